"""What is asked of a protocol, and whether it can be asked: names, bounds, parameters, workloads, crashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from crownless.impl.channels import Channel, channel_named
from crownless.impl.protocol import Parameter, ProtocolMachine, Setting
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.impl.workloads import Free, Program, Workload
from crownless.spec import library, notation
from crownless.spec.clocks import Clock, clock_named
from crownless.spec.enumeration import SENDS, Sends
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.notation import Script
from crownless.spec.orders import order_named
from crownless.spec.printable import printable_name

from .properties import AT_ONE_RECEIVER, default_orders

#: Beyond these no search ends; asking for more is taken for a slip.
MOST_PROCESSES = 16
MOST_MESSAGES = 64


@dataclass(frozen=True)
class Check:
    """What to check. `messages` bounds the free workload; a program brings its own. None: as the protocol has it."""

    protocol: str
    processes: int | None = None
    messages: int | None = None
    program: Script | None = None
    program_name: str | None = None
    channel: str | None = None
    orders: tuple[str, ...] = ()
    sends: Sends | None = None
    self_sends: bool = False
    parameters: Mapping[str, Setting] = field(default_factory=dict)
    #: The clocks that processes wear; a message that arrives late by one of them is reported.
    clocks: tuple[str, ...] = ()
    #: The name of the process that may crash.
    crash: str | None = None


class Asked(NamedTuple):
    """All that a check names."""

    machine: ProtocolMachine
    workload: Workload
    channel: type[Channel]
    channel_name: str
    orders: tuple[str, ...]
    clocks: list[Clock]
    #: The process that may crash.
    crash: int | None

    @classmethod
    def by(cls, check: Check) -> Asked:
        """What the names in a check stand for; raises `BadInput` if it cannot be asked."""
        kind = protocol_named(check.protocol)
        workload = workload_of(check, kind)
        n = len(workload.processes)
        machine = kind(n, parameters=settings_of(check, kind, n))
        orders = orders_of(check, machine)
        name = check.channel or kind.needs_channel
        channel = channel_named(name)
        return cls(machine, workload, channel, name, orders, clocks_of(check, kind), crash_of(check, workload))


def orders_of(check: Check, machine: ProtocolMachine) -> tuple[str, ...]:
    """The orders that the protocol is held to."""
    for order in check.orders:
        order_named(order)
        if machine.ordered_at is not None and order not in AT_ONE_RECEIVER:
            raise BadInput(
                f"{check.protocol} orders the deliveries at one process only, of which {order} says nothing",
                mend=f"ask for {' or '.join(AT_ONE_RECEIVER)}",
            )
    return tuple(dict.fromkeys(check.orders)) or default_orders(type(machine))


def clocks_of(check: Check, kind: type[ProtocolMachine]) -> list[Clock]:
    """The clocks that the processes wear."""
    clocks = [clock_named(name) for name in dict.fromkeys(check.clocks)]
    if clocks and (kind.rolls_back or not kind.sends_before_delivery):
        raise BadInput(
            f"{check.protocol} delivers messages before they are sent, or takes events back: they have no times",
            mend="leave out --clock",
        )
    return clocks


def settings_of(check: Check, kind: type[ProtocolMachine], n: int) -> dict[str, Setting]:
    """The values of all the protocol's parameters in a system of n processes."""
    for name in check.parameters:
        if name not in kind.parameters:
            names = ", ".join(kind.parameters) or "none"
            raise BadInput(f"{check.protocol} has no parameter '{name}'", mend=f"its parameters: {names}")
    values: dict[str, Setting] = {}
    for name, known in kind.parameters.items():
        programs = known.in_programs if check.program is not None else None
        values[name] = known.default(n) if programs is None else programs(n)
    for name, value in check.parameters.items():
        _in_range(check.protocol, name, kind.parameters[name], value, n)
        values[name] = value
    return values


def _in_range(protocol: str, name: str, known: Parameter, value: Setting, n: int) -> None:
    each = value if isinstance(value, tuple) else (value,)
    given = f"{protocol}: {name}={','.join(map(str, each))}"
    if isinstance(value, tuple) and not known.per_process:
        one, *_ = *each, known.least
        raise BadInput(f"{given}: it is one for all processes", mend=f"give one number, such as {name}={one}")
    if isinstance(value, tuple) and len(value) != n:
        raise BadInput(f"{given}: {len(value)} values for {n} processes", mend="give one for each, or one for all")
    most = None if known.most is None else known.most(n)
    for one in each:
        if one < known.least:
            raise BadInput(f"{given}: too small, {known.because}", mend=f"give {known.least} or more")
        if most is not None and one > most:
            raise BadInput(f"{given}: too great for {n} processes", mend=f"give {known.least} to {most}")


def workload_of(check: Check, kind: type[ProtocolMachine]) -> Workload:
    """The free workload or the program; raises `BadInput` if the protocol does not admit it."""
    return _free(check, kind) if check.program is None else _program(check, check.program, kind)


def _free(check: Check, kind: type[ProtocolMachine]) -> Workload:
    processes = kind.bound[0] if check.processes is None else check.processes
    messages = kind.bound[1] if check.messages is None else check.messages
    _within("-n/--processes", "processes", processes, MOST_PROCESSES)
    _within("-m/--messages", "messages", messages, MOST_MESSAGES)
    if check.self_sends and not kind.admits_self_sends:
        mend = f"leave out --self-sends, or name the protocols: {those_that_admit('self_sends')}"
        raise BadInput(f"{check.protocol} excludes messages to oneself", mend=mend)
    sends = sends_of(check, kind)
    if sends not in SENDS:
        raise unknown_name("kind of sends", sends, SENDS)
    if sends != "unicast" and not kind.admits_multicast:
        mend = f"leave out --sends, or name the protocols: {those_that_admit('multicast')}"
        raise BadInput(f"{check.protocol} has no messages to several processes", mend=mend)
    return Free(processes, messages, self_sends=check.self_sends, sends=sends)


def sends_of(check: Check, kind: type[ProtocolMachine]) -> Sends:
    """To whom messages of the free workload are addressed."""
    return kind.sends if check.sends is None else check.sends


def _program(check: Check, script: Script, kind: type[ProtocolMachine]) -> Workload:
    workload = Program(script)
    if (n := len(workload.processes)) > MOST_PROCESSES:
        mend = f"give at most {MOST_PROCESSES}; 3 or 4 is a good start"
        raise BadInput(f"program {check.program_name} has {n} processes: more than this tool takes", mend=mend)
    for message in workload.sends:
        if len(message.receivers) > 1 and not kind.admits_multicast:
            raise BadInput(
                f"{check.protocol} has no messages to several processes, and {message.name} is one",
                mend=f"send copies, or name the protocols: {those_that_admit('multicast')}",
            )
        if message.sender in message.receivers and not kind.admits_self_sends:
            raise BadInput(f"{check.protocol} excludes messages to oneself, such as {message.name}", mend="drop it")
    return workload


def crash_of(check: Check, workload: Workload) -> int | None:
    """The process that may crash."""
    if check.crash is None:
        return None
    if check.crash not in workload.processes:
        raise unknown_name("process to crash", check.crash, workload.processes)
    if len(workload.processes) < 2:
        raise BadInput("a system of one process has no survivors", mend="use two processes or more")
    return workload.processes.index(check.crash)


def those_that_admit(what: str) -> str:
    """The protocols that admit `self_sends` or `multicast`."""
    return ", ".join(name for name, kind in PROTOCOLS.items() if getattr(kind, f"admits_{what}"))


def _within(option: str, what: str, value: int, most: int) -> None:
    if value < 1:
        raise BadInput(f"{option} {value}: nothing to explore", mend=f"give 1 to {most} {what}")
    if value > most:
        raise BadInput(
            f"{option} {value}: more than this tool takes", mend=f"give at most {most} {what}; 3 or 4 is a good start"
        )


def refusal(check: Check) -> str | None:
    """Why this cannot be asked of the protocol, told without its name; None if it can."""
    kind = protocol_named(check.protocol)
    try:
        workload = workload_of(check, kind)
        n = len(workload.processes)
        orders_of(check, kind(n, parameters=settings_of(check, kind, n)))
        clocks_of(check, kind)
    except BadInput as error:
        return error.message.removeprefix(check.protocol).lstrip(": ")
    return None


def load_program(name: str) -> tuple[Script, str]:
    """A program by file name or by the name of a bundled one."""
    path = Path(name)
    if not library.is_file_name(name) and "/" not in name and "." not in name:
        if name not in (*library.names(), *library.counterexamples(), *library.exercises()):
            mend = unknown_name("program", name, (*library.names(), *library.exercises())).mend
            raise BadInput(f"no file and no bundled program is called '{printable_name(name)}'", mend=mend)
        path = library.path(name)
    return notation.load(path), name
