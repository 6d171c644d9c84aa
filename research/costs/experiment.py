"""Experiments with costs: single simulations, sweeps over many of them, and each as a row of a table.

A row is an experiment (the fields of `Experiment`, parameters as text such as ``k=5``), a `key` that identifies it and
the code that was run, and, once it is done, its `Measured` values. Rows of the same key are the same.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from crownless import impl
from crownless.impl.channels import channel_named
from crownless.impl.protocol import Packet, ProtocolMachine, Setting
from crownless.impl.protocol_validation import check_class, machine_errors
from crownless.impl.protocols.extra_messages import ExtraMessages, State
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.model_check.system import monitors
from crownless.model_check.system.request import machine_of
from crownless.research import costs as simulation
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import with_article

from .latencies import latency_named
from .traffic import traffic_named

#: The channels over which costs are simulated.
RELIABLE = ("unordered", "fifo")
#: Beyond these a simulation does not end in reasonable time; larger values are taken for slips.
MAX_PROCESSES, MAX_MESSAGES = 128, 1_000_000
#: Repetitions of each experiment.
SEEDS = 5
#: The protocols that a sweep compares by default: one of each kind.
COMPARED = (
    "unordered", "fifo-sequence", "fifo-ack", "rst", "ses", "ses-delete", "optimal", "extra-messages", "buffer",
    "buffer-pipelined", "murty-garg", "rendezvous",
)  # fmt: skip


@dataclass(frozen=True)
class Experiment:
    """A simulation to run. None: the protocol's default."""

    protocol: str
    processes: int = 4
    workload: str = "uniform"
    #: Messages that each sending process submits per mean latency; for waiting clients, per mean latency of thinking.
    load: float = 0.1
    latency: str = "exponential"
    channel: str | None = None
    parameters: Mapping[str, Setting] = field(default_factory=dict)
    #: The total number of messages handed over.
    messages: int = 1000
    seed: int = 0
    #: Bytes that a process can transmit in one mean latency; 0: any number.
    bandwidth: float = 0.0
    #: Bytes of application data per message.
    payload: int = 100


class ClearsOneWay(ExtraMessages):
    """The extra-message protocol with one way of clearing, the first in each column. The machine in `impl/` lists every
    way, soon thousands.
    """

    def clearings(self, i: int, state: State) -> Iterable[tuple[State, Sequence[Packet]]]:
        packets: list[Packet] = []
        while columns := self.columns_to_clear(i, state):
            ways = [(self.after_sending(i, state, j), self.extra(i, state, j)) for j in columns]
            state, packet = min(ways)
            packets.append(packet)
        return [(state, packets)]


def machine_for(experiment: Experiment) -> ProtocolMachine:
    """The machine of the experiment; raises `BadInput` if something about the experiment makes no sense."""
    kind = protocol_named(experiment.protocol)
    check_class(kind)
    if kind.timers:
        raise BadInput(f"costs of retransmission ({', '.join(kind.timers)}) are not simulated", hint="use check")
    if kind.rolls_back:
        raise BadInput(
            f"{experiment.protocol} differs where a site crashes, and none does here", hint="name what it is based on"
        )
    for name, least, most in (("processes", 2, MAX_PROCESSES), ("messages", 10, MAX_MESSAGES)):
        if not least <= getattr(experiment, name) <= most:
            raise BadInput(f"{getattr(experiment, name)} {name}", hint=f"give {least} to {most:,} by --{name}")
    for name, such in (("load", "0.1"), ("bandwidth", "1000"), ("payload", "100")):
        value = getattr(experiment, name)
        if not (math.isfinite(value) and value >= 0) or (name == "load" and value == 0):
            enough = "greater than 0" if name == "load" else "0 or greater"
            raise BadInput(f"{name} {value}: not a number {enough}", hint=f"give one by --{name}, such as {such}")
    if not traffic_named(experiment.workload).broadcasts and kind.sends == "broadcast":
        raise BadInput(f"{experiment.protocol} is for broadcasts", hint="add --workload broadcast")
    latency_named(experiment.latency)
    channel = experiment.channel or kind.needs_channel
    channel_named(channel)
    if channel not in RELIABLE:
        problem = f"costs are not simulated over {with_article(channel)} channel"
        raise BadInput(problem, hint=f"use {' or '.join(RELIABLE)}")
    kind = ClearsOneWay if kind is ExtraMessages else kind
    with machine_errors(kind):
        return machine_of(kind, experiment.processes, experiment.parameters, experiment.protocol)


def combinations(
    protocols: Iterable[str],
    *,
    processes: Sequence[int] = (4,),
    workloads: Sequence[str] = ("uniform",),
    loads: Sequence[float] = (0.1,),
    latencies: Sequence[str] = ("exponential",),
    bandwidths: Sequence[float] = (0.0,),
    parameters: Sequence[Mapping[str, Setting]] = ({},),
    seeds: int = SEEDS,
    messages: int = 500,
    base: Experiment | None = None,
) -> list[Experiment]:
    """Every combination, with every protocol; `base` gives all other fields. Raises `BadInput` for invalid requests.

    A parameter is given to the protocols that have it; at least one must. A protocol for broadcasts is left out of
    workloads without them, unless they are requested alone.
    """
    names = list(dict.fromkeys(protocols))
    some = base or Experiment("unordered", messages=messages)
    known = {name: PROTOCOLS[name].parameters if name in PROTOCOLS else {} for name in names}
    unknown = [name for setting in parameters for name in setting if not any(name in each for each in known.values())]
    if unknown:
        raise BadInput(f"none of these protocols has a parameter '{unknown[0]}'", hint="see crownless list")
    found: dict[str, Experiment] = {}
    for protocol, n, workload, load, latency, bandwidth, setting in product(
        names, processes, workloads, loads, latencies, bandwidths, parameters
    ):
        experiment = replace(
            some, protocol=protocol, processes=n, workload=workload, load=load, latency=latency, bandwidth=bandwidth,
            messages=messages, parameters={name: value for name, value in setting.items() if name in known[protocol]},
        )  # fmt: skip
        if (len(names) > 1 or len(workloads) > 1) and not _meant_for(protocol, workload):
            continue
        if repr(experiment) not in found:
            machine_for(experiment)
            found[repr(experiment)] = experiment
    return [replace(experiment, seed=seed) for experiment in found.values() for seed in range(seeds)]


def _meant_for(protocol: str, workload: str) -> bool:
    kind = PROTOCOLS.get(protocol)
    return kind is None or kind.sends != "broadcast" or traffic_named(workload).broadcasts


# -- rows --------------------------------------------------------------------------------------------------------------

#: The fields of an experiment, in the order of the columns.
EXPERIMENT_FIELDS = tuple(each.name for each in fields(Experiment))

Row = dict[str, Any]


def row_of(experiment: Experiment) -> Row:
    """The experiment as a row with its key."""
    row = {name: getattr(experiment, name) for name in EXPERIMENT_FIELDS} | {"parameters": said(experiment.parameters)}
    known = json.dumps([code(), *row.values()])
    return {"key": hashlib.sha256(known.encode()).hexdigest()[:32], **row}


def experiment_of(row: Mapping[str, Any]) -> Experiment:
    """The experiment of a row."""
    return Experiment(
        **{name: row[name] for name in EXPERIMENT_FIELDS} | {"parameters": parameters_in(row["parameters"])}
    )


def said(parameters: Mapping[str, Setting]) -> str:
    """Parameters in the form of `--set`: ``k=5``, or ``k=4,4,5``."""
    return " ".join(
        f"{name}={','.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in sorted(parameters.items())
    )


def parameters_in(text: str) -> dict[str, Setting]:
    """The inverse of `said`."""
    parameters: dict[str, Setting] = {}
    for setting in text.split():
        name, _, value = setting.partition("=")
        numbers = tuple(int(number) for number in value.split(","))
        parameters[name] = numbers if len(numbers) > 1 else numbers[0]
    return parameters


@cache
def code() -> str:
    """A digest of the code that figures depend on: with other code they are simulated again."""
    files = [file for package in (impl, simulation) for file in sorted(Path(package.__path__[0]).glob("*.py"))]
    files.append(Path(monitors.__file__))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
