"""Any run of a protocol, as z3 sees it: any number of processes and messages, one step after another.

A protocol of vectors and matrices takes its steps by its own code, run on terms (`terms`). The history variables are
those of the specification: which messages are sent and delivered, and what each process knows, that is, which sends are
in its causal past. The fixed attributes of a message are functions of it, constrained when it is sent: its sender and
receiver, its number on its channel, its stamp, and which sends happened before its own.

`ASSUMED` lists all assumptions about the environment.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import z3

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms, as_term, for_all_of, like
from crownless.spec.computation import Message

CAUSAL_PAST = (
    "the causal past of a process grows by what it sends and, on delivery, by the message and the message's own past"
)
ASSUMED = (
    "each message is sent once, to one process that is not its sender, and delivered at most once",
    "a packet is what its sender put on the channel; it may take any time, overtake others, and be lost",
    CAUSAL_PAST,
    "live: whatever stays deliverable is eventually delivered, and nothing is lost",
)

ACCEPTED = "i accepts m"
TO_ANOTHER = "m is not to its sender"


@dataclass(frozen=True)
class SymbolicState:
    """Everything that changes in a run, in one state; each part maps its arguments to a term."""

    local: Callable[[Term], Any]  #: process → its local state
    sent: Callable[[Term], Term]  #: message → True if it is sent
    #: Message → True if it is delivered. In `any_multicast`: message, process → True if delivered to this process.
    delivered: Callable[..., Term]
    knows: Callable[[Term, Term], Term]  #: process, message → True if its send is in the causal past of the process
    #: Sender, receiver → number of messages sent on this channel. In `any_multicast`: sender → number sent by it.
    count: Callable[..., Term]
    witness: Callable[[Term, Term, Term], Term]  #: process, l, k → a message that it knows; the proof says which


class Event(NamedTuple):
    """A step that some process may take: its hypotheses, and the state after it."""

    name: str
    given: Mapping[str, Term]
    after: SymbolicState
    sends: bool = False


class AnyRun:
    """An arbitrary state of a run of the protocol; process `i` takes the next step, with the message `m`."""

    def __init__(self, protocol: type[ProtocolMachine], *, terms: Terms | None = None, message: Term = None) -> None:
        """Any number of processes and messages, unless finite sorts are given."""
        self.terms = terms = Terms() if terms is None else terms
        self.machine = for_every_n(protocol, terms)
        for method in ("internal", "receive", "agree"):
            if getattr(protocol, method) is not getattr(ProtocolMachine, method):
                raise self.machine.refused(method, "takes steps beside sending and delivering, which no run here has")
        self.message = z3.DeclareSort("Message") if message is None else message
        process, message = terms.process, self.message
        self.i, self.m = terms.any_process("i"), z3.Const("m", message)
        self.sender = z3.Function("sender", message, process)
        #: True if the send of the first message happens before that of the second.
        self.precedes = z3.Function("precedes", message, message, z3.BoolSort())
        #: The witnesses (`SymbolicState.witness`) of its sender when it was sent.
        self.witness = z3.Function("witness-of", message, process, process, message)
        self._declare()

    def _declare(self) -> None:
        """The other functions of a message, and the state before the next step."""
        process, message, truth, number = self.terms.process, self.message, z3.BoolSort(), z3.IntSort()
        channel, copy = [process] * self.ends, [process] * (2 - self.ends)
        self._address()
        #: 1, 2, … for the messages of a channel, and the message of that number.
        self.number = z3.Function("number", message, number)
        self.numbered = z3.Function("numbered", *channel, number, message)
        p = self.terms.any_process("p")
        initial = self.machine.initial(p)
        shape(self.machine, "initial", initial)
        self.stamp = functions("stamp", self._first_stamp(p, initial), message, *copy)
        self.before = SymbolicState(
            functions("local", initial, process),
            z3.Function("sent", message, truth),
            z3.Function("delivered", message, *copy, truth),
            z3.Function("knows", process, message, truth),
            z3.Function("count", *channel, number),
            z3.Function("witness", process, process, process, message),
        )

    # -- differences for multicasts (`any_multicast`) ------------------------------------------------------------------

    #: A channel goes from one process to another; or from one process to all, with a copy for each receiver.
    ends = 2

    def _address(self) -> None:
        self.receiver = z3.Function("receiver", self.message, self.terms.process)

    def _first_stamp(self, p: Term, initial: Any) -> Any:
        return sent(self.machine, p, initial, Message("m", p, (p,))).packets[0].stamp

    def to(self, x: Term, p: Term) -> Term:
        """True if the message is to this process."""
        return self.receiver(x) == p

    def channel(self, sender: Term, x: Term) -> tuple[Term, ...]:
        """The channel of a message from this sender."""
        return sender, self.receiver(x)

    def copy(self, p: Term) -> tuple[Term, ...]:
        """Distinguishes the copy for this process from others; empty for unicast."""
        return ()

    def packet(self, m: Term) -> Packet:
        """The packet of a message, as process i receives it."""
        sender, receiver = self.sender(m), self.receiver(m)
        return Packet(sender, self.i, "message", Message("m", sender, (receiver,)), self.stamp(m))

    def _sending(self) -> tuple[Step, Term, Term]:
        """The step of i when it sends m: m goes to other processes and carries what i attaches."""
        i, m = self.i, self.m
        j = self.receiver(m)
        step = sent(self.machine, i, self.before.local(i), Message("m", i, (j,)))
        (packet,) = step.packets
        same_shape(self.machine, "send", self.stamp(m), packet.stamp, "the stamp")
        stamps = zip(leaves(self.stamp(m)), leaves(packet.stamp), strict=True)
        return step, i != j, z3.And(*[a == b for a, b in stamps])

    def _brought(self, l: Term, k: Term) -> Term:
        """The witness that m carries for an entry."""
        return self.witness(self.m, l, k)

    def arrived(self, now: SymbolicState, x: Term, p: Term) -> Term:
        """True if the message is to this process and delivered to it."""
        return now.delivered(x, *self.copy(p))

    # -- quantifiers ---------------------------------------------------------------------------------------------------

    def messages(self, holds: Callable[..., Term], *, of: int = 1) -> Term:
        """For all messages, or all pairs of them."""
        return for_all_of(self.message, holds, of)

    def processes(self, holds: Callable[..., Term], *, of: int = 1) -> Term:
        """For all processes, or pairs or triples of them."""
        return for_all_of(self.terms.process, holds, of)

    def each_delivery(self, holds: Callable[..., Term]) -> Term:
        """For all places where a message may be delivered; a unicast has a single one, which is not named."""
        return holds()

    def all_numbered(self, now: SymbolicState) -> Term:
        """Each number, up to the number of messages sent, is that of a message of the channel."""
        channel, number = [self.terms.any_process(name) for name in "kl"[: self.ends]], z3.Int("number")
        x = self.numbered(*channel, number)
        its = [end == given for end, given in zip(self.channel(self.sender(x), x), channel, strict=True)]
        is_it = z3.And(now.sent(x), *its, self.number(x) == number)
        there = z3.Implies(z3.And(number >= 1, number <= now.count(*channel)), is_it)
        return z3.ForAll([*channel, number], there, patterns=[x])

    # -- the possible events -------------------------------------------------------------------------------------------

    @property
    def start(self) -> SymbolicState:
        """The initial state."""
        no = z3.BoolVal(False)
        return replace(
            self.before,
            local=self.machine.initial,
            sent=lambda x: no,
            delivered=lambda x, *copy: no,
            knows=lambda p, x: no,
            count=lambda *channel: z3.IntVal(0),
        )

    def sending(self) -> Event:
        """Process i sends the message m, which becomes the witness of its receivers' rows."""
        i, m, before = self.i, self.m, self.before
        step, to_others, carries = self._sending()
        channel = self.channel(i, m)
        given = {
            "i sends m, for the first time": z3.And(self.sender(m) == i, z3.Not(before.sent(m))),
            TO_ANOTHER: to_others,
            "m carries what i attaches": carries,
            "m has the next number of its channel": z3.And(
                self.number(m) == before.count(*channel) + 1, self.numbered(*channel, self.number(m)) == m
            ),
            "before m happened what i knows of": self.messages(lambda x: self.precedes(x, m) == before.knows(i, x)),
            "m has the witnesses of i": self.processes(
                lambda l, k: self.witness(m, l, k) == before.witness(i, l, k), of=2
            ),
        }

        def is_its(some: tuple[Term, ...]) -> Term:
            return z3.And([end == its for end, its in zip(some, channel, strict=True)])

        after = replace(
            self._stepped(step),
            sent=lambda x: z3.Or(before.sent(x), x == m),
            knows=lambda p, x: z3.Or(before.knows(p, x), z3.And(p == i, x == m)),
            count=lambda *some: before.count(*some) + z3.If(is_its(some), 1, 0),
            witness=lambda p, l, k: z3.If(z3.And(p == i, self.to(m, l)), m, before.witness(p, l, k)),
        )
        return Event("sending", given, after, sends=True)

    def delivering(self, takes: Callable[[Term, Term], Term] | None = None) -> Event:
        """Process i delivers the message m. `takes`: True for the entries (l, k) that m raises, and whose witness it
        replaces.
        """
        i, m, before = self.i, self.m, self.before
        step = taken_in(self.machine, i, before.local(i), self.packet(m))

        def witness(p: Term, l: Term, k: Term) -> Term:
            if takes is None:
                return before.witness(p, l, k)
            return z3.If(z3.And(p == i, takes(l, k)), self._brought(l, k), before.witness(p, l, k))

        def is_this(x: Term, copy: tuple[Term, ...]) -> Term:
            return z3.And([x == m, *(p == i for p in copy)]) if copy else x == m

        after = replace(
            self._stepped(step),
            delivered=lambda x, *copy: z3.Or(before.delivered(x, *copy), is_this(x, copy)),
            knows=lambda p, x: z3.Or(before.knows(p, x), z3.And(p == i, z3.Or(x == m, self.precedes(x, m)))),
            witness=witness,
        )
        return Event("delivering", {**self.in_flight, ACCEPTED: self.accepted}, after)

    def events(self, takes: Callable[[Term, Term], Term] | None = None) -> list[Event]:
        """All possible steps; `takes` as in `delivering`."""
        return [self.sending(), self.delivering(takes)]

    @property
    def in_flight(self) -> dict[str, Term]:
        """The message m is in flight to i."""
        i, m, now = self.i, self.m, self.before
        return {"m is in flight to i": z3.And(self.to(m, i), now.sent(m), z3.Not(self.arrived(now, m, i)))}

    @property
    def accepted(self) -> Term:
        """True if m is deliverable at i now."""
        return as_term(self.machine.deliverable(self.i, self.before.local(self.i), self.packet(self.m)))

    @property
    def past_delivered(self) -> Term:
        """All messages sent to i causally before m are delivered, as causal order requires when m is delivered."""
        i, m, now = self.i, self.m, self.before
        return self.messages(lambda x: z3.Implies(z3.And(self.precedes(x, m), self.to(x, i)), self.arrived(now, x, i)))

    def earliest(self, time: Callable[[Term], Term]) -> Term:
        """No message in flight has an earlier time than m."""
        now, m = self.before, self.m

        def waits(x: Term, p: Term) -> Term:
            return z3.And(now.sent(x), self.to(x, p), z3.Not(self.arrived(now, x, p)))

        return self.messages(lambda x: self.processes(lambda p: z3.Implies(waits(x, p), time(m) <= time(x))))

    def _stepped(self, step: Step) -> SymbolicState:
        """The state after a step of i, without the history variables."""
        before, i = self.before, self.i
        return replace(before, local=lambda p: chosen(p == i, step.state, before.local(p)))


# -- steps -------------------------------------------------------------------------------------------------------------


def sent(machine: Any, i: Term, state: Any, message: Message) -> Step:
    """The step of a process that sends a message: exactly as assumed here; raises `Refused` if it differs.
    (`any_multicast` checks the packet for each receiver.)
    """
    step = _only(machine, "send", machine.send(i, state, message), state, AppEvent("send", message))
    receivers = list(message.receivers)
    if len(step.packets) != len(receivers):
        raise machine.refused(
            "send", "a message does not go to each of its receivers, once, or something else goes with it"
        )
    for packet, j in zip(step.packets, receivers, strict=True):
        as_told = packet.source is i and packet.destination is j and packet.message is message
        if not as_told or packet.kind != "message":
            raise machine.refused("send", "what is transmitted is not the message, from its sender to its receiver")
        shape(machine, "send", packet.stamp, "the stamp")
    return step


def taken_in(machine: Any, i: Term, state: Any, packet: Packet) -> Step:
    """The step of a process on a received message: it delivers it and sends nothing; raises `Refused` otherwise."""
    assert packet.message is not None
    step = _only(machine, "on_packet", machine.on_packet(i, state, packet), state, AppEvent("deliver", packet.message))
    if step.packets:
        raise machine.refused("on_packet", "something is sent on delivery")
    return step


def _only(machine: Any, method: str, steps: Sequence[Step], state: Any, happened: AppEvent) -> Step:
    if len(steps) != 1:
        raise machine.refused(method, f"there are {len(steps)} steps, and not just one")
    events = steps[0].events
    if len(events) != 1 or events[0].kind != happened.kind or events[0].message is not happened.message:
        raise machine.refused(method, f"what happens is not the {happened.kind} of the message, and that alone")
    same_shape(machine, method, state, steps[0].state)
    return steps[0]


# -- values ------------------------------------------------------------------------------------------------------------


def leaves(value: Any) -> list[Term]:
    """The terms in a value, in order. (Everything else in it is a constant of the protocol: `shape`.)"""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value] if z3.is_expr(value) else []


def shape(machine: Any, method: str, value: Any, what: str = "the state") -> Any:
    """The structure of a value without its terms; raises `Refused` if a part of it is neither a term nor declared
    constant, such as a tuple that may grow: z3 would not see it.
    """
    if z3.is_expr(value):
        return str(value.sort())  # a sort can be compared only with sorts
    if value is None and what == "the stamp":
        return None
    if isinstance(value, tuple) and value:
        named = hasattr(value, "_fields")
        names = getattr(value, "_fields", range(len(value)))
        return (
            type(value),
            *(
                (name, type(part), repr(part))
                if name in machine.constants
                else shape(machine, method, part, f"{name} in {what}" if named else what)
                for name, part in zip(names, value, strict=True)
            ),
        )
    is_what = "an empty tuple" if value == () else f"of the type {type(value).__name__}"
    hint = "build it with self.ops, or name its field in the protocol's constants if it never changes"
    raise machine.refused(method, f"{what} is {is_what}, which z3 does not see", hint)


def same_shape(machine: Any, method: str, one: Any, other: Any, what: str = "the state") -> None:
    """Raises `Refused` unless the two differ only in their terms: parts declared constant must be equal."""
    if shape(machine, method, one, what) != shape(machine, method, other, what):
        raise machine.refused(method, f"{what} changes in its form, or in what is declared constant")


def rebuilt(value: Any, terms: Iterator[Term]) -> Any:
    """A value like this one, of these terms."""
    if isinstance(value, tuple):
        return like(value, [rebuilt(part, terms) for part in value])
    return next(terms) if z3.is_expr(value) else value


def functions(name: str, value: Any, *of: Term) -> Callable[..., Any]:
    """Values of this form, one for each element of a sort, or each tuple of elements; nothing else is known of them."""
    each = [z3.Function(f"{name}-{k}", *of, leaf.sort()) for k, leaf in enumerate(leaves(value))]
    return lambda *things: rebuilt(value, (function(*things) for function in each))


def chosen(condition: Term, this: Any, other: Any) -> Any:
    """This value if the condition holds, else the other."""
    return rebuilt(this, (z3.If(condition, a, b) for a, b in zip(leaves(this), leaves(other), strict=True)))
