"""The request of a check, and the same with every name, default and bound resolved."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from crownless.impl.channels import CHANNELS, Channel, channel_named, name_of_channel
from crownless.impl.protocol import COPIES, Parameter, ProtocolMachine, Setting, default_bound, parameters_of
from crownless.impl.protocol_validation import WrongMachine, check_class, machine_errors
from crownless.impl.registry import PROTOCOLS, is_bundled, name_of, protocol_named, qualified_name_of
from crownless.impl.workloads import Free, Program, Workload
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import in_brackets, printable_name, shown, with_article
from crownless.runtime.requests import option
from crownless.spec import library, notation
from crownless.spec.clocks import Clock, clock_named
from crownless.spec.enumeration import SENDS, Sends, known_sends
from crownless.spec.notation import Script
from crownless.spec.orders import order_named, refuse_where_all_keep
from crownless.spec.result import Result

from .clocks import Clocks
from .monitors import Monitor
from .properties import (
    AT_ONE_RECEIVER,
    LIVE,
    SOMETIMES,
    Property,
    default_orders,
    monitors_of,
    not_promised,
    properties_of,
)
from .system import System

#: Beyond these no search ends; larger values are taken for slips.
MAX_PROCESSES = 16
MAX_MESSAGES = 64
#: The channels, as help texts list them.
CHANNEL_NAMES = " or ".join(", ".join(CHANNELS).rsplit(", ", 1))
#: The kinds of sends, likewise.
KINDS_OF_SENDS = " or ".join(", ".join(SENDS).rsplit(", ", 1))


class NotApplicable(BadInput):
    """The request does not apply to this protocol, but may to another. `reason` says why, without naming the
    protocol.
    """

    def __init__(self, protocol: str, reason: str, *, hint: str, joint: str = " ") -> None:
        super().__init__(f"{protocol}{joint}{reason}", hint=hint)
        self.reason = reason


@dataclass(frozen=True)
class Check:
    """The request of a check: the options of `crownless check` that say what is checked. None: the protocol's default.

    `messages` bounds the free workload, in which any process may send to any other; a program brings its own messages,
    and so does any other `workload`.
    """

    protocol: "str | type[ProtocolMachine] | ProtocolMachine" = field(
        metadata=option("The protocol: its name, `hub.py:Hub`, `package.module:Class`, its class, or a machine.")
    )
    processes: int | None = field(
        default=None,
        metadata=option(
            "Number of processes.  [default: the protocol's own, usually 3]",
            "number",
            "-n",
            "--processes",
            most=MAX_PROCESSES,
        ),
    )
    messages: int | None = field(
        default=None,
        metadata=option(
            "Total number of sends.  [default: the protocol's own, usually 4]",
            "number",
            "-m",
            "--messages",
            most=MAX_MESSAGES,
        ),
    )
    _: KW_ONLY
    program: Script | str | Path | None = field(
        default=None,
        metadata=option("A program (file or bundled name) instead of the free workload.", "program", "--program"),
    )
    channel: str | type[Channel] | None = field(
        default=None, metadata=option(f"{CHANNEL_NAMES}.  [default: the one the protocol needs]", "name", "--channel")
    )
    orders: Sequence[str] = field(
        default=(),
        metadata=option(
            "Check this order instead of the promised one.  [see crownless list]", "orders", "--order", metavar="ORDER"
        ),
    )
    sends: Sends | None = field(
        default=None, metadata=option(f"{KINDS_OF_SENDS}.  [default: the protocol's own]", "name", "--sends")
    )
    self_sends: bool = field(
        default=False, metadata=option("Processes may also send to themselves.", "flag", "--self-sends")
    )
    crash: str | None = field(
        default=None, metadata=option("A process that may crash, such as P1.", "process", "--crash", metavar="PROCESS")
    )
    parameters: Mapping[str, Setting] = field(
        default_factory=dict,
        metadata=option(
            "A protocol parameter; several values, as in 4,4,5, are one per process.",
            "settings",
            "--set",
            metavar="KEY=VALUE",
        ),
    )
    clocks: Sequence[str] = field(
        default=(),
        metadata=option(
            "Report deliveries that contradict lamport-times or vector-times.", "names", "--clock", metavar="CLOCK"
        ),
    )
    workload: Workload | None = field(default=None, metadata=option("Any other workload."))
    monitors: Sequence[Monitor] = field(
        default=(),
        metadata=option("Further monitors of runs; the properties that they watch are decided too.", "objects"),
    )
    properties: Sequence[Property] = field(
        default=(),
        metadata=option(
            "The properties to decide.  [default: all that protocol, orders and workload suggest]", "objects"
        ),
    )

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

    def resolve(self) -> "ResolvedCheck":
        """The check with every name and default resolved; raises `BadInput` for an unknown name, and `NotApplicable`
        if the request does not apply to this protocol.
        """
        if self.program is not None and any((self.processes, self.messages, self.sends, self.self_sends)):
            hint = "leave out -n, -m, --sends and --self-sends"
            raise BadInput("a program has its own processes and messages", hint=hint)
        kind = self.kind
        protocol = name_of(kind)
        check_class(kind)
        with machine_errors(kind):
            workload = _workload(self, kind, protocol)
            machine, n = self.protocol, len(workload.processes)
            if not isinstance(machine, ProtocolMachine):
                machine = machine_of(kind, n, self.parameters, protocol, in_program=self.program is not None)
            elif machine.n != n:
                raise BadInput(f"{protocol}: a machine for {machine.n} processes, not for {n}", hint="give its class")
            elif self.parameters:
                raise BadInput(f"{protocol}: a machine already has its parameters", hint="give its class")
            orders = tuple(dict.fromkeys(self.orders)) or default_orders(kind)
            if isinstance(workload, Free):
                unicasts = workload.sends == "unicast"
            else:
                unicasts = all(len(message.receivers) == 1 for message in workload.universe())
            refuse_where_all_keep(orders, unicasts=unicasts)
            for order in self.orders:
                order_named(order)
                if machine.ordered_at is not None and order not in (*AT_ONE_RECEIVER, "asynchronous"):
                    problem = f"orders the deliveries at one process only, which {order} order does not constrain"
                    raise NotApplicable(protocol, problem, hint=f"request {' or '.join(AT_ONE_RECEIVER)}")
        if self.clocks and (kind.rolls_back or not kind.sends_before_delivery):
            problem = "delivers messages before they are sent, or takes events back: they have no times"
            raise NotApplicable(protocol, problem, hint="leave out --clock")
        if self.crash is not None and self.crash not in workload.processes:
            raise unknown_name("process to crash", self.crash, workload.processes)
        if self.crash is not None and n < 2:
            raise BadInput("with one process, no process survives a crash", hint="use two processes or more")
        channel = kind.needs_channel if self.channel is None else self.channel
        clocks = tuple(clock_named(name) for name in dict.fromkeys(self.clocks))
        program, crash = not workload.takes_anything, self.crash is not None
        monitored = [name for monitor in self.monitors for name in monitor.watches]
        properties = tuple(self.properties)
        if not properties:
            decided = properties_of(machine, orders, program=program, crash=crash, clocks=clocks)
            left_out = not_promised(kind) - {*self.orders, *machine.invariants}
            properties = (
                *(known._replace(promised=known.name not in left_out) for known in decided),
                *(Property(name, "always", name.replace("-", " ")) for name in monitored),
            )
        resolved = ResolvedCheck(
            protocol=protocol,
            machine=machine,
            workload=workload,
            channel=channel if isinstance(channel, type) else channel_named(channel),
            channel_name=name_of_channel(channel) if isinstance(channel, type) else channel,
            properties=properties,
            orders=orders,
            clocks=clocks,
            crash=None if self.crash is None else workload.processes.index(self.crash),
            monitors=tuple(self.monitors),
            chosen=bool(self.properties),
        )
        if kind.timers and resolved.channel.reliable:
            over = f"over {with_article(resolved.channel_name)} channel, which loses nothing"
            hint = f"use {' or '.join(name for name, known in CHANNELS.items() if not known.reliable)}"
            problem = f"retransmits ({', '.join(kind.timers)}): {over}, unboundedly many packets can be in flight"
            raise NotApplicable(protocol, problem, hint=hint)
        if resolved.chosen:
            resolved.refuse_undecided()
        return resolved


@dataclass(frozen=True)
class ResolvedCheck(Result):
    """A check with every name and default resolved: all that a search needs."""

    json_keys = """
        protocol=qualified_name processes=process_count process_names=workload.processes messages=workload.messages
        program=program_name channel=channel_name sends self_sends crash=crashes parameters=machine.settings
        """

    protocol: str  #: its name in reports
    machine: ProtocolMachine
    workload: Workload
    channel: type[Channel]
    channel_name: str
    properties: tuple[Property, ...]  #: all to decide
    orders: tuple[str, ...] = ()
    clocks: tuple[Clock, ...] = ()
    crash: int | None = None  #: the process that may crash
    monitors: tuple[Monitor, ...] = ()
    chosen: bool = False  #: True if the request named the properties

    @property
    def brief(self) -> str:
        """What is checked, where."""
        return f"check of {self.protocol}: {self.machine.n} processes, {self.channel_name} channel"

    @property
    def program(self) -> Script | None:
        """The applications' program, if they run one."""
        return self.workload.script if isinstance(self.workload, Program) else None

    @property
    def crashes(self) -> str | None:
        """The name of the process that may crash."""
        return None if self.crash is None else self.workload.processes[self.crash]

    @property
    def bounds(self) -> list[str]:
        """The workload, the channel, the parameters and what else limits the runs or their verdicts, in words."""
        machine, processes = self.machine, self.workload.processes
        parts = [self.workload.scope, f"{self.channel_name} channel: {self.channel.meaning}"]
        if machine.settings:
            parts.append(", ".join(f"{key}={rendered_setting(value)}" for key, value in machine.settings.items()))
        if machine.timers:
            timers, most = ", ".join(machine.timers), machine.setting(COPIES)
            parts.append(f"{timers}: at any time; a packet that equals {most} in flight is lost at once")
        if machine.remark:
            parts.append(machine.remark)
        if machine.ordered_at is not None:
            parts.append(f"orders judged at {', '.join(processes[i] for i in sorted(machine.ordered_at))} alone")
        if self.crashes is not None:
            what = "may crash and lose its packets in flight; messages from and to it are not owed"
            parts.append(f"{self.crashes} {what}")
        if not self.channel.reliable:
            parts.append("fair: an action that is possible again and again is taken; a lost packet stays lost")
        return parts

    def system(self) -> System:
        """The transition system, with new monitors, since they number what they see; those in `monitors` are reused."""
        monitors = monitors_of(self.machine, self.orders)
        monitors += [*(Clocks(self.machine.n, each) for each in self.clocks), *self.monitors]
        return System(self.machine, self.workload, self.channel, monitors, self.crash)

    def refuse_undecided(self) -> None:
        """Raises `NotApplicable` if a property is chosen that this check cannot decide."""
        watched = [name for monitor in self.system().monitors for name in monitor.watches]
        for known in self.properties:
            decidable = {
                "always": [*watched, *self.machine.invariants],
                "live": [known.name for known in LIVE],
                "sometimes": [*(known.name for known in SOMETIMES), *self.machine.witnesses, *self.machine.rules],
            }[known.kind]
            if known.name not in decidable:
                problem = f"{known.kind} property '{known.name}' cannot be decided by this check"
                hint = f"known: {', '.join(dict.fromkeys(decidable))}"
                raise NotApplicable(self.protocol, problem, hint=hint, joint=": ")

    @property
    def qualified_name(self) -> str:
        """The name of the protocol by which it can be asked for again."""
        return qualified_name_of(type(self.machine))

    @property
    def process_count(self) -> int:
        return len(self.workload.processes)

    @property
    def program_name(self) -> str | None:
        return None if self.program is None else self.program.name

    @property
    def sends(self) -> Sends | None:
        """What kind of sends the free workload has; None for a program."""
        return self.workload.sends if isinstance(self.workload, Free) else None

    @property
    def self_sends(self) -> bool:
        """True if processes may send to themselves in the free workload."""
        return isinstance(self.workload, Free) and self.workload.self_sends


def refuse_asynchronous(orders: Iterable[str], option: str) -> None:
    """Raises `BadInput` if it is among the orders that a user names by this option; a check would decide nothing."""
    if "asynchronous" in orders:
        what = "a violation of it also violates delivers-once, which is always checked"
        raise BadInput(f"{option} asynchronous: {what}", hint="name another order")


# -- machines and their parameters -------------------------------------------------------------------------------------


def machine_of(
    kind: type[ProtocolMachine], n: int, given: Mapping[str, Setting], protocol: str, *, in_program: bool = False
) -> ProtocolMachine:
    """The machine for n processes, with these parameters, and defaults for the others; `protocol` is its name.

    Raises `NotApplicable` for a parameter that it does not have, and `WrongMachine` if it cannot be made.
    """
    values: dict[str, Setting] = {}
    has = parameters_of(kind)
    for name in has:
        values[name] = default_of(kind, name, n, in_program=in_program)
    for name, value in given.items():
        if name not in has:
            names = ", ".join(has) or "none"
            raise NotApplicable(protocol, f"has no parameter '{name}'", hint=f"its parameters: {names}")
        wrong = _out_of_range(name, has[name], value, n)
        if wrong is not None:
            problem = f"{name}={rendered_setting(value)}: {wrong[0]}"
            raise NotApplicable(protocol, problem, hint=wrong[1], joint=": ")
        values[name] = value
    with machine_errors(kind, f"{kind.__name__}(n, parameters={{…}})"):
        machine = kind(n, parameters=values)
    if not all(hasattr(machine, name) for name in ("n", "ops", "settings")):
        hint = "call super().__init__(n, ops, parameters) first"
        raise WrongMachine(f"{kind.__name__}.__init__ does not set n, ops and settings", hint=hint)
    return machine


def default_of(kind: type[ProtocolMachine], name: str, n: int, *, in_program: bool = False) -> Setting:
    """The default of a parameter for n processes; raises `WrongMachine` if it gives no number."""
    known = parameters_of(kind)[name]
    default = known.in_programs if in_program and known.in_programs is not None else known.default
    with machine_errors(kind, kind.__name__):
        value = default(n)
    each = value if isinstance(value, tuple) and known.per_process and len(value) == n else (value,)
    if any(type(one) is not int for one in each):
        problem = f"{kind.__name__}.parameters['{name}'] is {shown(value)} by default, not a number"
        raise WrongMachine(problem, hint="return one, such as 2")
    return value


def _out_of_range(name: str, known: Parameter, value: Setting, n: int) -> tuple[str, str] | None:
    """The problem with the value of a parameter, and a hint; None if there is none."""
    each = value if isinstance(value, tuple) else (value,)
    if isinstance(value, tuple) and not known.per_process:
        one, *_ = *each, known.least
        return "it is one for all processes", f"give one number, such as {name}={one}"
    if isinstance(value, tuple) and len(value) != n:
        return f"{len(value)} values for {n} processes", "give one per process, or one for all"
    if min(each) < known.least:
        return f"too small, {known.because}", f"give {known.least} or more"
    if known.most is not None and max(each) > known.most(n):
        return f"too large for {n} processes", f"give {known.least} to {known.most(n)}"
    return None


def rendered_setting(value: Setting) -> str:
    """The value of a parameter in the form that `--set` takes."""
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


# -- workloads ---------------------------------------------------------------------------------------------------------


def _workload(check: Check, kind: type[ProtocolMachine], protocol: str) -> Workload:
    """The free workload, the program or the workload given; raises `NotApplicable` if the protocol does not admit
    its messages.
    """
    workload, program = check.workload, check.program
    if workload is None and program is not None:
        workload = Program(program if isinstance(program, Script) else load_program(os.fspath(program)))
        if (n := len(workload.processes)) > MAX_PROCESSES:
            hint = f"give at most {MAX_PROCESSES}; 3 or 4 is a good start"
            raise BadInput(f"{workload.script.name or 'the computation'} has {n} processes", hint=hint)
    several: str | None
    to_itself: str | None
    if workload is not None:
        every = list(workload.universe())
        several = next((f", and {m.name} is one" for m in every if len(m.receivers) > 1), None)
        to_itself = next((f", such as {m.name}" for m in every if m.sender in m.receivers), None)
    else:
        bound = default_bound(kind)
        processes = check.protocol.n if isinstance(check.protocol, ProtocolMachine) else bound[0]
        processes = processes if check.processes is None else check.processes
        messages = bound[1] if check.messages is None else check.messages
        for option, noun, value, most in (
            ("-n/--processes", "processes", processes, MAX_PROCESSES),
            ("-m/--messages", "messages", messages, MAX_MESSAGES),
        ):
            if value < 1:
                raise BadInput(f"{option} {value}: nothing to explore", hint=f"give 1 to {most} {noun}")
            if value > most:
                hint = f"give at most {most} {noun}; 3 or 4 is a good start"
                raise BadInput(f"{option} {value}: too large", hint=hint)
        sends = kind.sends if check.sends is None else known_sends(check.sends)
        workload = free = Free(processes, messages, self_sends=check.self_sends, sends=sends)
        several, to_itself = ("" if free.sends != "unicast" else None), ("" if free.self_sends else None)
    if to_itself is not None and not kind.admits_self_sends and kind.sends != "broadcast-to-all":
        option = "--sends broadcast-to-all" if check.sends == "broadcast-to-all" else "--self-sends"
        hint = "leave it out" if to_itself else _remedy(kind, "self_sends", f"leave out {option}")
        raise NotApplicable(protocol, f"excludes messages to oneself{to_itself}", hint=hint)
    if several is not None and not kind.admits_multicast and kind.sends == "unicast":
        hint = _remedy(kind, "multicast", "send copies" if several else "leave out --sends")
        raise NotApplicable(protocol, f"has no messages to several processes{several}", hint=hint)
    return workload


#: What a class from outside declares to admit such messages.
DECLARED = {
    "self_sends": 'sends = "broadcast-to-all" if senders deliver their own broadcasts, or admits_self_sends = True',
    "multicast": 'sends = "broadcast-to-all", "broadcast" or "multicast"',
}


def _remedy(kind: type[ProtocolMachine], what: str, instead: str) -> str:
    """What to do about messages that the protocol does not admit: `self_sends`, or `multicast`."""
    if is_bundled(kind):
        return f"{instead}, or name the protocols: {protocols_supporting(what)}"
    return f"{instead}, or declare in the class: {DECLARED[what]}"


def protocols_supporting(what: str) -> str:
    """The bundled protocols that admit `self_sends` or `multicast`."""
    return ", ".join(name for name, kind in PROTOCOLS.items() if getattr(kind, f"admits_{what}"))


def load_program(name: str) -> Script:
    """A program by file name or by the name of a bundled one."""
    path = library.located(name)
    if path is None and "/" not in name and "." not in name:
        hint = unknown_name("program", name, (*library.names(), *library.exercises())).hint
        raise BadInput(f"there is no file or bundled program '{printable_name(name)}'", hint=hint)
    return replace(notation.load(path or Path(name)), name=name)
