"""Sweeps of experiments over all combinations of protocols and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from crownless.impl.protocol import Setting
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.simulation.simulation import Experiment, check_experiment
from crownless.model_check.simulation.traffic import traffic_named
from crownless.spec.errors import BadInput

#: Repetitions of each experiment.
SEEDS = 5

#: What a sweep without a protocol compares: one of each kind.
COMPARED = (
    "unordered", "fifo-sequence", "fifo-ack", "rst", "ses", "ses-delete", "optimal", "extra-messages", "buffer",
    "buffer-pipelined", "murty-garg", "rendezvous",
)  # fmt: skip


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
    """Every combination, with every protocol; `base` says all else. Raises `BadInput` for what makes no sense.

    A parameter is given to the protocols that have it, and must be one of some. A protocol for broadcasts is left out
    of workloads without them, unless they are requested alone.
    """
    names = list(dict.fromkeys(protocols))
    some = base or Experiment("unordered")
    for setting in parameters:
        for name in setting:
            if not any(name in PROTOCOLS[protocol].parameters for protocol in names if protocol in PROTOCOLS):
                raise BadInput(f"none of these protocols has a parameter '{name}'", hint="see crownless list")
    every = product(names, processes, workloads, loads, latencies, bandwidths, parameters, range(seeds))
    found: dict[str, Experiment] = {}
    for protocol, n, workload, load, latency, bandwidth, setting, seed in every:
        experiment = replace(
            some, protocol=protocol, processes=n, workload=workload, load=load, latency=latency, bandwidth=bandwidth,
            seed=seed, messages=messages, parameters=_own(protocol, setting),
        )  # fmt: skip
        if (len(names) > 1 or len(workloads) > 1) and not _meant_for(protocol, workload):
            continue
        found.setdefault(repr(experiment), experiment)
    for experiment in {repr(replace(each, seed=0)): each for each in found.values()}.values():
        check_experiment(experiment)
    return list(found.values())


def _own(protocol: str, setting: Mapping[str, Setting]) -> Mapping[str, Setting]:
    known = PROTOCOLS[protocol].parameters if protocol in PROTOCOLS else {}
    return {name: value for name, value in setting.items() if name in known}


def _meant_for(protocol: str, workload: str) -> bool:
    kind = PROTOCOLS.get(protocol)
    return kind is None or kind.sends != "broadcast" or traffic_named(workload).broadcasts
