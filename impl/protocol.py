"""The protocol machine: its states, inputs and outputs.

A protocol at one process is a pure state machine: an immutable, hashable local state, and one method for each kind of
input. It has no clock, no network and no randomness, and keeps nothing outside its state: every engine calls some of
its inputs twice, and refuses a machine that answers differently or changes its arguments. An input yields *steps*: the
next local state, the packets to transmit, and the application events. A step is an alternative: if the text leaves a
choice open, return several; to refuse an input for now (a blocked send, an empty buffer), return none.

The harness (`model_check.system`) holds everything else: the channels, the hold-back queue (Kuper's *mail room*) in
which a packet that is not deliverable yet waits, the application's program, and the monitors that check the run. A
protocol cannot see any of it.

Inputs:

`send`         the application submits a message. It may be *sent* (an application event) now or by a later step.
`deliverable`  the guard: whether this packet, which has reached the process, may be received yet. If not it waits.
`on_packet`    a packet is received. For most protocols this delivers a message to the application.
`receive`      the application requests a message (protocols with buffers of their own that are pulled from).
`internal`     steps that the protocol takes by itself, each with a name.
`agree`        after a crash: the survivors' agreement, if a text has them confer ([SES] §4.3); each then gets it as a
               packet, before anything else happens.

A crash itself is not an input: the site takes no more steps, and its unreceived packets may be lost.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, final

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import shown
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends
from crownless.spec.orders import ORDERS

from .ops import Integers, Ops, Value
from .renaming import Renaming


class Packet(NamedTuple):
    """A packet: the unit that travels on a channel. `kind` distinguishes packets."""

    source: Any
    destination: Any
    kind: str
    message: Any = None  #: the application's Message that it carries, or None
    stamp: Any = None


class AppEvent(NamedTuple):
    """An application event, at the process that takes the step; or, for protocols that roll back, one undone.

    `unsend`: the send never happened. `undeliver`: the delivery never happened, and is owed again. `orphan`: the
    delivery never happened, and is not owed, since the send never happened or is given up.
    """

    kind: Literal["send", "deliver", "unsend", "undeliver", "orphan"]
    message: Message


def sent(message: Message) -> AppEvent:
    """The message was sent, for the application."""
    return AppEvent("send", message)


def delivered(message: Message) -> AppEvent:
    """The message was delivered to the application."""
    return AppEvent("deliver", message)


class Step(NamedTuple):
    """One outcome of an input: next local state, packets to transmit, application events in order."""

    state: Any
    packets: Sequence[Packet] = ()
    events: Sequence[AppEvent] = ()


#: The beginning of the action of an arrival that delivers nothing; the kind of the packet follows.
ARRIVAL = "receive "


class Transition(NamedTuple):
    """A local transition: one input at one process, and one outcome of it.

    `step` is None if the input was refused: a send that blocks, a packet that is held back, an application that
    requests a message and gets none.
    """

    process: int
    before: Any  #: the local state
    action: str  #: as in a run: `send`, `deliver`, `receive KIND`, or the name of an internal step
    message: Any = None  #: the Message that the application submits, or that the packet carries, if any
    packet: Any = None  #: the Packet that arrived, if one did
    step: Any = None  #: the Step

    @property
    def refused(self) -> bool:
        return self.step is None

    @property
    def held_back(self) -> bool:
        """True if the guard refused a packet."""
        return self.packet is not None and self.step is None

    @property
    def received(self) -> bool:
        """True if a packet was received."""
        return self.packet is not None and self.step is not None

    @property
    def sends(self) -> bool:
        """True if a message that the application handed over was taken."""
        return self.action == "send" and self.step is not None

    @property
    def after(self) -> Any:
        """The local state afterwards."""
        return self.before if self.step is None else self.step.state

    def receives(self, kind: str) -> bool:
        """True if a packet of that kind was received."""
        return self.received and self.packet.kind == kind

    def transmits(self, kind: str) -> int:
        """The number of packets of that kind that are transmitted."""
        return 0 if self.step is None else sum(packet.kind == kind for packet in self.step.packets)

    def delivers(self) -> list[Message]:
        """The messages delivered, in order."""
        return [] if self.step is None else [event.message for event in self.step.events if event.kind == "deliver"]


class WrongAnswer(Exception):
    """A method of a machine returned a wrong kind of answer."""

    def __init__(self, method: str, answer: object, noun: str, hint: str) -> None:
        super().__init__(method, answer, noun, hint)
        self.method, self.answer, self.noun, self.hint = method, answer, noun, hint


def checked_columns(method: str, answer: Any, processes: range) -> Any:
    """The answer of that method; raises `WrongAnswer` unless it is a list of columns, one process each."""
    if isinstance(answer, Collection) and all(hasattr(type(j), "__index__") and j in processes for j in answer):
        return answer
    raise WrongAnswer(method, answer, "a list of columns", f"name a column by its process, 0 to {processes[-1]}")


def name_of_arrival(packet: Packet) -> str:
    """The name of the action in which a packet arrives and delivers nothing."""
    return f"{ARRIVAL}{packet.kind}"


def is_arrival(action: str) -> bool:
    """True if this is the action of an arrival that delivers nothing."""
    return action.startswith(ARRIVAL)


#: A predicate on local transitions: predicate(machine, transition).
Rule = Callable[[Any, Transition], bool]


@dataclass(frozen=True)
class Parameter:
    """A number that the protocol leaves to its user (`--set KEY=VALUE`); raises `BadInput` if it cannot be one."""

    meaning: str
    #: The value for a system of n processes, if none is given.
    default: Callable[[int], int]
    #: The smallest value that makes sense.
    least: int
    #: Why smaller values make no sense.
    because: str
    #: True if each process may have its own value (`--set KEY=4,4,5`).
    per_process: bool = False
    #: The greatest value for a system of n processes, if there is one.
    most: Callable[[int], int] | None = None
    #: The values in a program, if that of the free workload would make too many states.
    in_programs: Callable[[int], tuple[int, ...]] | None = None

    def __post_init__(self) -> None:
        a_function, such = "a function of the number of processes", "such as lambda n: 2"
        checks = {
            "meaning": (isinstance(self.meaning, str), "a string", 'say what it counts: "messages in flight"'),
            "default": (callable(self.default), a_function, such),
            "least": (type(self.least) is int, "a whole number", "give the smallest value that makes sense"),
            "because": (isinstance(self.because, str), "a string", "say why smaller values make no sense"),
            "per_process": (isinstance(self.per_process, bool), "True or False", "leave it out"),
            "most": (self.most is None or callable(self.most), a_function, such),
            "in_programs": (self.in_programs is None or callable(self.in_programs), a_function, such),
        }
        for name, (is_right, noun, hint) in checks.items():
            if not is_right:
                problem = (
                    f"Parameter({shown(self.meaning)}, …): its `{name}`, {shown(getattr(self, name))}, is not {noun}"
                )
                raise BadInput(problem, hint=hint)


#: The value of a parameter: one for all processes, or one for each.
Setting = int | tuple[int, ...]


class ProtocolMachine:
    """Base of all protocols; the attributes are its facts, printed by `crownless list`."""

    #: Where it is described: key of the bibliography and section.
    source: ClassVar[str] = ""
    #: The order that the protocol promises, and with it all that is checked of any protocol; `asynchronous` promises no
    #: order. Or a tuple of `PROMISES`: then the others of `PROMISES` do not decide the verdict.
    promises: ClassVar[str | tuple[str, ...]]
    #: The channel it needs: the weakest over which it keeps its promise, or the one its text assumes.
    needs_channel: ClassVar[str] = "unordered"
    #: The kind of sends for which its text uses it. With `broadcast-to-all` the sender delivers its own message, too.
    sends: ClassVar[Sends] = "unicast"
    #: True if a process may send to itself, which `broadcast-to-all` implies; and to several at once, which a `sends`
    #: other than unicast implies.
    admits_self_sends: ClassVar[bool] = False
    admits_multicast: ClassVar[bool] = False
    #: True if its purity is otherwise known: then no call is made twice to detect impurity.
    is_known_to_be_pure: ClassVar[bool] = False
    #: The interleavings that no search of it tries, in words; empty: there are none.
    not_tried: ClassVar[str] = ""
    #: False if its local states are not worth showing as variables.
    shows_variables: ClassVar[bool] = True
    #: Kinds of packets that name a message without carrying it, such as a request to send it.
    control_kinds: ClassVar[frozenset[str]] = frozenset()
    #: True if the text says how survivors go on after a crash, by rolling back. Then events may be undone.
    rolls_back: ClassVar[bool] = False
    #: True if it treats all processes alike, never ranking them, as its invariants and witnesses do. Then `renamed` and
    #: `renamed_stamp` must say what a renaming of the processes makes of its values. The native engine checks it: where
    #: processes turn out to differ, each gets tables of its own, and the verdict says so. (Parameters of single
    #: processes distinguish them all the same.)
    symmetric: ClassVar[bool] = False
    #: Default bound (processes, messages), for a check that takes a few seconds; see `default_bound`.
    bound: ClassVar[tuple[int, int]] = (3, 4)
    #: False if a message can be delivered before its send event has happened at the sender (Murty & Garg's commits).
    sends_before_delivery: ClassVar[bool] = True
    #: Fields of its named tuples (local states, stamps) that are no numbers, vectors or matrices, and never change:
    #: the same at every process from the start on. A proof sees to that; it refuses others that it cannot see.
    constants: ClassVar[tuple[str, ...]] = ()
    #: The protocol's own parameters and their defaults (`--set KEY=VALUE`).
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    #: The internal steps, by name, that are timers: they retransmit, as often as they are enabled. Such a protocol has
    #: the parameter `COPIES`, which bounds the equal packets in flight, so that the states are finitely many.
    timers: ClassVar[tuple[str, ...]] = ()

    #: Local invariants: true of every reachable local state. name → predicate(machine, process, state).
    invariants: ClassVar[Mapping[str, Callable[[Any, int, Any], bool]]] = {}
    #: Local states that some run should reach. The verdict reports those that no run within the bound reaches as
    #: never exercised. (Only a search that delivered nothing at all does not pass.)
    witnesses: ClassVar[Mapping[str, Callable[[Any, int, Any], bool]]] = {}
    #: Likewise for local transitions: where a rule of the protocol makes a difference. name → predicate(machine,
    #: transition). Whether the guard holds a packet back, and accepts one like it, is checked without an entry here.
    rules: ClassVar[Mapping[str, Rule]] = {}
    #: Methods with alternatives, from which `crownless knobs` makes variants: method → name → function with the
    #: arguments of the method. The first is the method as it stands.
    knobs: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {}

    def __init__(self, n: Value, ops: Ops | None = None, parameters: Mapping[str, Setting] | None = None) -> None:
        """A machine for a system of n processes. A transition reads n only through `ops`: a proof has no n to give."""
        self.n = n
        self.settings: dict[str, Setting] = dict(parameters or {})
        self.ops: Ops = ops if ops is not None else Integers(n)

    def setting(self, name: str, i: int = 0) -> int:
        """The value of a parameter at process i."""
        value = self.settings.get(name)
        if value is None:
            return parameters_of(type(self))[name].default(self.n)
        return value[i] if isinstance(value, tuple) else value

    def is_control(self, packet: Packet) -> bool:
        """True if the packet carries no message of the application."""
        return packet.message is None or packet.kind in self.control_kinds

    @property
    def ordered_at(self) -> frozenset[int] | None:
        """The processes whose deliveries the promise covers; None: all."""
        return None

    @property
    def remark(self) -> str:
        """A remark on these parameters for verdicts, such as that the text excludes them."""
        return ""

    def initial(self, i: int) -> Any:
        """The initial local state of process i."""
        raise NotImplementedError

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        """The application at process i submits a message."""
        raise NotImplementedError

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        """True if process i may receive this packet now."""
        return True

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        """Process i receives a packet; called only where `deliverable` holds."""
        raise NotImplementedError

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        """The application at process i requests a message: from `sender`, or from any process (None)."""
        return ()

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        """The named steps that process i can take by itself."""
        return ()

    def agree(self, states: Mapping[int, Any], crashed: int) -> Any | None:
        """The survivors' agreement, in these local states, after a crash; None if they see no reason for one."""
        return None

    # -- renaming the processes ----------------------------------------------------------------------------------------

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        """A local state of process i after the renaming: then it belongs to process ``renaming.image[i]``."""
        raise NotImplementedError

    def renamed_stamp(self, kind: str, stamp: Any, renaming: Renaming) -> Any:
        """The stamp of a packet of that kind after the renaming; not called for packets that carry nothing."""
        raise NotImplementedError

    @final
    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        source, destination, kind, message, stamp = packet
        return Packet(
            renaming.image[source],
            renaming.image[destination],
            kind,
            None if message is None else renaming.message(message),
            None if stamp is None else self.renamed_stamp(kind, stamp, renaming),
        )


#: The properties that a protocol may promise by name.
PROMISES = (*ORDERS, "delivers-once", "delivers-all", "never-blocks")


def promised_orders(kind: type[ProtocolMachine]) -> tuple[str, ...]:
    """The orders that a protocol promises, the weakest first; `asynchronous` if it promises none."""
    promises = (kind.promises,) if isinstance(kind.promises, str) else kind.promises
    return tuple(name for name in ORDERS if name in promises) or ("asynchronous",)


def default_bound(kind: type[ProtocolMachine]) -> tuple[int, int]:
    """The default bound of a class; messages with several receivers have many more states, so that it is smaller for
    these unless the class, or a base of it, sets `bound`.
    """
    sets = any("bound" in vars(base) for base in kind.__mro__ if base is not ProtocolMachine)
    return kind.bound if sets or kind.sends == "unicast" else (3, 3)


#: The bound on retransmission, a parameter of every protocol with timers: its name, and the parameter.
COPIES = "copies"
_MOST_COPIES = Parameter("how many equal packets may be in flight", lambda n: 2, 1, "a packet must be able to travel")


def parameters_of(kind: type[ProtocolMachine]) -> dict[str, Parameter]:
    """The protocol's own parameters, and `COPIES` if it has timers."""
    return {**({COPIES: _MOST_COPIES} if kind.timers else {}), **kind.parameters}


#: The base class of a user's own protocol.
Protocol = ProtocolMachine
