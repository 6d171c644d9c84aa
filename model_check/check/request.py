"""The request of a check, and the same with every name, default and bound resolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crownless.impl.channels import Channel, channel_named, name_of_channel
from crownless.impl.protocol import Parameter, ProtocolMachine, Setting
from crownless.impl.protocol_validation import check_class, machine_errors, make
from crownless.impl.registry import PROTOCOLS, name_of, protocol_named, qualified_name_of
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.system.clocks import Clocks
from crownless.model_check.system.monitors import Monitor, monitors_of
from crownless.model_check.system.properties import (
    AT_ONE_RECEIVER,
    LIVE,
    SOMETIMES,
    Property,
    default_orders,
    properties_of,
)
from crownless.model_check.system.system import System
from crownless.spec import library, notation
from crownless.spec.clocks import Clock, clock_named
from crownless.spec.enumeration import SENDS, Sends
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.notation import Script
from crownless.spec.orders import order_named
from crownless.spec.printable import in_brackets, printable_name

#: Beyond these no search ends; asking for more is taken for a slip.
MOST_PROCESSES = 16
MOST_MESSAGES = 64


class NotApplicable(BadInput):
    """This cannot be checked of this protocol, while of another it can. `reason` says why, without naming the
    protocol.
    """

    def __init__(self, protocol: str, reason: str, *, hint: str, joint: str = " ") -> None:
        super().__init__(f"{protocol}{joint}{reason}", hint=hint)
        self.reason = reason


@dataclass(frozen=True)
class Check:
    """The request of a check. None: as the protocol has it.

    `protocol` is a class, a machine, or a name that the registry knows. `messages` bounds the free workload; a program
    brings its own, and so does any other `workload`. `monitors` judge runs beside the orders; what they watch are
    further properties.
    """

    protocol: str | type[ProtocolMachine] | ProtocolMachine
    processes: int | None = None
    messages: int | None = None
    program: Script | None = None
    channel: str | type[Channel] | None = None
    orders: tuple[str, ...] = ()
    sends: Sends | None = None
    self_sends: bool = False
    parameters: Mapping[str, Setting] = field(default_factory=dict)
    #: The clocks that processes wear; a message that arrives late by one of them is reported.
    clocks: tuple[str, ...] = ()
    #: The name of the process that may crash.
    crash: str | None = None
    workload: Workload | None = None
    monitors: tuple[Monitor, ...] = ()
    #: Decides these alone; none: all that the protocol, the orders and the workload suggest.
    properties: tuple[Property, ...] = ()

    def __repr__(self) -> str:
        protocol = self.protocol if isinstance(self.protocol, str) else self.kind.__name__
        chosen = {"processes": self.processes, "messages": self.messages, "channel": self.channel}
        bound = "".join(f", {name}: {value}" for name, value in chosen.items() if value is not None)
        return in_brackets(f"check of {protocol}{bound}")

    @property
    def kind(self) -> type[ProtocolMachine]:
        """The protocol's class; raises `BadInput` if no protocol has that name."""
        if isinstance(self.protocol, str):
            return protocol_named(self.protocol)
        return self.protocol if isinstance(self.protocol, type) else type(self.protocol)

    @property
    def name(self) -> str:
        """The protocol's name in reports."""
        return name_of(self.kind)

    def resolve(self) -> ResolvedCheck:
        """The check with everything that it names; raises `BadInput` if there is no such thing, and `NotApplicable` if
        it cannot be checked of this protocol.
        """
        check_class(self.kind)
        with machine_errors(self.kind):
            workload = workload_of(self)
            machine = _machine(self, len(workload.processes))
            orders = orders_of(self, machine)
        name, channel = _channel(self.kind.needs_channel if self.channel is None else self.channel)
        resolved = ResolvedCheck(
            protocol=self.name,
            machine=machine,
            workload=workload,
            channel=channel,
            channel_name=name,
            orders=orders,
            clocks=clocks_of(self),
            crash=crash_of(self, workload),
            monitors=self.monitors,
            only=self.properties,
        )
        if self.properties:
            resolved.refuse_undecided()
        return resolved


@dataclass(frozen=True)
class ResolvedCheck:
    """A check in which nothing is left to be looked up: all that a search needs to know."""

    protocol: str  #: its name in reports
    machine: ProtocolMachine
    workload: Workload
    channel: type[Channel]
    channel_name: str
    orders: tuple[str, ...] = ()
    clocks: tuple[Clock, ...] = ()
    crash: int | None = None  #: the process that may crash
    monitors: tuple[Monitor, ...] = ()
    only: tuple[Property, ...] = ()  #: the properties to decide; none: all

    def __repr__(self) -> str:
        return in_brackets(f"check of {self.protocol}: {self.machine.n} processes, {self.channel_name} channel")

    @property
    def program(self) -> Script | None:
        """The program of the applications, if they run one."""
        return self.workload.script if isinstance(self.workload, Program) else None

    @property
    def crashes(self) -> str | None:
        """The name of the process that may crash."""
        return None if self.crash is None else self.workload.processes[self.crash]

    def all_monitors(self) -> list[Monitor]:
        """New ones, but for `monitors`: they number what they see."""
        n = self.machine.n
        return [*monitors_of(self.machine, self.orders), *(Clocks(n, each) for each in self.clocks), *self.monitors]

    def properties(self) -> list[Property]:
        """All that is decided."""
        if self.only:
            return list(self.only)
        program, crash = not self.workload.takes_anything, self.crash is not None
        properties = properties_of(self.machine, self.orders, program=program, crash=crash, clocks=self.clocks)
        monitored = [name for monitor in self.monitors for name in monitor.watches]
        return [*properties, *(Property(name, "always", name.replace("-", " ")) for name in monitored)]

    def refuse_undecided(self) -> None:
        """Raises `NotApplicable` if a property is chosen that this check cannot decide."""
        machine = self.machine
        decidable = {
            "always": [*(name for each in self.all_monitors() for name in each.watches), *machine.invariants],
            "live": [known.name for known in LIVE],
            "sometimes": [known.name for known in SOMETIMES] + [*machine.witnesses, *machine.rules],
        }
        for known in self.only:
            if known.name not in decidable[known.kind]:
                named = ", ".join(dict.fromkeys(decidable[known.kind]))
                raise NotApplicable(
                    self.protocol,
                    f"{known.kind} property '{known.name}' cannot be decided by this check",
                    hint=f"known: {named}",
                    joint=": ",
                )

    def json(self) -> dict[str, Any]:
        """What is checked, by the stable keys of the command line."""
        free = self.workload if isinstance(self.workload, Free) else None
        return {
            "protocol": qualified_name_of(type(self.machine)),
            "processes": len(self.workload.processes),
            "process_names": list(self.workload.processes),
            "messages": self.workload.messages,
            "program": None if self.program is None else self.program.name,
            "channel": self.channel_name,
            "sends": None if free is None else free.sends,
            "self_sends": free is not None and free.self_sends,
            "crash": self.crashes,
            "parameters": dict(self.machine.settings),
        }

    def system(self, monitors: Iterable[Monitor] | None = None) -> System:
        """The transition system, with these monitors or new ones."""
        watching = self.all_monitors() if monitors is None else list(monitors)
        return System(self.machine, self.workload, self.channel, watching, self.crash)


# -- machines and their parameters -------------------------------------------------------------------------------------


def _machine(check: Check, n: int) -> ProtocolMachine:
    if not isinstance(check.protocol, ProtocolMachine):
        kind = check.kind
        given = settings_of(check.name, kind, n, check.parameters, in_program=check.program is not None)
        return make(kind, n, given)
    if check.protocol.n != n:
        raise BadInput(f"{check.name}: a machine for {check.protocol.n} processes, not for {n}", hint="give its class")
    if check.parameters:
        raise BadInput(f"{check.name}: a machine has its parameters already", hint="give its class")
    return check.protocol


def settings_of(
    protocol: str, kind: type[ProtocolMachine], n: int, given: Mapping[str, Setting], *, in_program: bool = False
) -> dict[str, Setting]:
    """The values of all the protocol's parameters in a system of n processes."""
    for name in given:
        if name not in kind.parameters:
            names = ", ".join(kind.parameters) or "none"
            raise NotApplicable(protocol, f"has no parameter '{name}'", hint=f"its parameters: {names}")
    values: dict[str, Setting] = {}
    for name, known in kind.parameters.items():
        programs = known.in_programs if in_program else None
        values[name] = known.default(n) if programs is None else programs(n)
    for name, value in given.items():
        _in_range(protocol, name, kind.parameters[name], value, n)
        values[name] = value
    return values


def _in_range(protocol: str, name: str, known: Parameter, value: Setting, n: int) -> None:
    each = value if isinstance(value, tuple) else (value,)
    given = f"{name}={','.join(map(str, each))}"

    def out_of_range(why: str, hint: str) -> NotApplicable:
        return NotApplicable(protocol, f"{given}: {why}", hint=hint, joint=": ")

    if isinstance(value, tuple) and not known.per_process:
        one, *_ = *each, known.least
        raise out_of_range("it is one for all processes", f"give one number, such as {name}={one}")
    if isinstance(value, tuple) and len(value) != n:
        raise out_of_range(f"{len(value)} values for {n} processes", "give one for each, or one for all")
    most = None if known.most is None else known.most(n)
    for one in each:
        if one < known.least:
            raise out_of_range(f"too small, {known.because}", f"give {known.least} or more")
        if most is not None and one > most:
            raise out_of_range(f"too great for {n} processes", f"give {known.least} to {most}")


# -- workloads ---------------------------------------------------------------------------------------------------------


def workload_of(check: Check) -> Workload:
    """The free workload, the program or the workload given; raises `NotApplicable` if the protocol does not admit
    it.
    """
    if check.workload is not None:
        return _admitted(check, check.workload)
    return _free(check) if check.program is None else _program(check, check.program)


def _free(check: Check) -> Workload:
    kind = check.kind
    processes = check.processes
    if processes is None:
        processes = check.protocol.n if isinstance(check.protocol, ProtocolMachine) else kind.bound[0]
    messages = kind.bound[1] if check.messages is None else check.messages
    _within("-n/--processes", "processes", processes, MOST_PROCESSES)
    _within("-m/--messages", "messages", messages, MOST_MESSAGES)
    if check.self_sends and not kind.admits_self_sends:
        raise _excludes_self_sends(check, hint="leave out --self-sends")
    sends = sends_of(check)
    if sends not in SENDS:
        raise unknown_name("kind of sends", sends, SENDS)
    if sends != "unicast" and not _admits_multicast(kind):
        hint = f"leave out --sends, or name the protocols: {protocols_supporting('multicast')}"
        raise NotApplicable(check.name, "has no messages to several processes", hint=hint)
    return Free(processes, messages, self_sends=check.self_sends, sends=sends)


def _excludes_self_sends(check: Check, hint: str) -> NotApplicable:
    hint = f"{hint}, or name the protocols: {protocols_supporting('self_sends')}"
    return NotApplicable(check.name, "excludes messages to oneself", hint=hint)


def _admits_multicast(kind: type[ProtocolMachine]) -> bool:
    return kind.admits_multicast or kind.sends != "unicast"


def sends_of(check: Check) -> Sends:
    """To whom messages of the free workload are addressed."""
    return check.kind.sends if check.sends is None else check.sends


def _program(check: Check, script: Script) -> Workload:
    workload = Program(script)
    if (n := len(workload.processes)) > MOST_PROCESSES:
        hint = f"give at most {MOST_PROCESSES}; 3 or 4 is a good start"
        raise BadInput(f"program {script.name} has {n} processes: more than this tool takes", hint=hint)
    return _admitted(check, workload)


def _admitted(check: Check, workload: Workload) -> Workload:
    kind = check.kind
    for message in workload.universe():
        if len(message.receivers) > 1 and not _admits_multicast(kind):
            raise NotApplicable(
                check.name,
                f"has no messages to several processes, and {message.name} is one",
                hint=f"send copies, or name the protocols: {protocols_supporting('multicast')}",
            )
        if message.sender in message.receivers and not kind.admits_self_sends:
            raise NotApplicable(
                check.name, f"excludes messages to oneself, such as {message.name}", hint="leave it out"
            )
    return workload


def protocols_supporting(what: str) -> str:
    """The protocols that admit `self_sends` or `multicast`."""
    return ", ".join(name for name, kind in PROTOCOLS.items() if getattr(kind, f"admits_{what}"))


def _within(option: str, what: str, value: int, most: int) -> None:
    if type(value) is not int:
        raise BadInput(f"{option} {value!r}: not a whole number", hint=f"give 1 to {most} {what}")
    if value < 1:
        raise BadInput(f"{option} {value}: nothing to explore", hint=f"give 1 to {most} {what}")
    if value > most:
        raise BadInput(
            f"{option} {value}: more than this tool takes", hint=f"give at most {most} {what}; 3 or 4 is a good start"
        )


def load_program(name: str) -> Script:
    """A program by file name or by the name of a bundled one."""
    path = Path(name)
    if not library.is_file_name(name) and "/" not in name and "." not in name:
        if name not in (*library.names(), *library.counterexamples(), *library.exercises()):
            hint = unknown_name("program", name, (*library.names(), *library.exercises())).hint
            raise BadInput(f"no file and no bundled program is called '{printable_name(name)}'", hint=hint)
        path = library.path(name)
    return replace(notation.load(path), name=name)


# -- channels, orders, clocks, crashes ---------------------------------------------------------------------------------


def _channel(given: str | type[Channel]) -> tuple[str, type[Channel]]:
    return (name_of_channel(given), given) if isinstance(given, type) else (given, channel_named(given))


def orders_of(check: Check, machine: ProtocolMachine) -> tuple[str, ...]:
    """The orders that the protocol is checked against."""
    for order in check.orders:
        order_named(order)
        if machine.ordered_at is not None and order not in (*AT_ONE_RECEIVER, "asynchronous"):
            raise NotApplicable(
                check.name,
                f"orders the deliveries at one process only, of which {order} says nothing",
                hint=f"request {' or '.join(AT_ONE_RECEIVER)}",
            )
    return tuple(dict.fromkeys(check.orders)) or default_orders(type(machine))


def clocks_of(check: Check) -> tuple[Clock, ...]:
    """The clocks that the processes wear."""
    clocks = tuple(clock_named(name) for name in dict.fromkeys(check.clocks))
    if clocks and (check.kind.rolls_back or not check.kind.sends_before_delivery):
        raise NotApplicable(
            check.name,
            "delivers messages before they are sent, or takes events back: they have no times",
            hint="leave out --clock",
        )
    return clocks


def crash_of(check: Check, workload: Workload) -> int | None:
    """The process that may crash."""
    if check.crash is None:
        return None
    if check.crash not in workload.processes:
        raise unknown_name("process to crash", check.crash, workload.processes)
    if len(workload.processes) < 2:
        raise BadInput("a system of one process has no survivors", hint="use two processes or more")
    return workload.processes.index(check.crash)
