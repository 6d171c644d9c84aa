"""What a protocol machine is.

A protocol at one process is a pure state machine: an immutable, hashable local state, and one method for each kind of
input. It has no clock, no network and no randomness. An input yields *steps*: the next local state, the packets to
transmit, and what has now happened for the application. A step is an alternative: where the text leaves a choice
open, return several; to refuse an input for now (a blocked send, an empty buffer), return none.

The harness (`model_check.system`) holds everything else: the channels, the mail room in which a packet that may not be
accepted yet waits, the application's program, and the ghosts that check the run. A protocol cannot see any of it.

Inputs, in the words of the texts:

`send`      the application hands over a message. It may be *sent* (an application event) now or by a later step.
`accepts`   the guard: may this packet, which has reached the process, be taken in yet? If not it waits.
`arrive`    a packet is taken in. For most protocols this delivers a message to the application.
`receive`   the application asks for a message (protocols with buffers of their own that are pulled from).
`internal`  steps that the protocol takes by itself, each with a name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from crownless.spec.computation import Message

from .ops import Integers, Ops, Value


class Packet(NamedTuple):
    """What travels on a channel. `message` is the application's message it carries, if any, `kind` tells packets
    apart.
    """

    source: Any
    destination: Any
    kind: str
    message: Message | None = None
    stamp: Any = None


class Happened(NamedTuple):
    """An application event, at the process that takes the step."""

    kind: Literal["send", "deliver"]
    message: Message


class Step(NamedTuple):
    """One outcome of an input: next local state, packets to transmit, application events in order."""

    state: Any
    packets: Sequence[Packet] = ()
    events: Sequence[Happened] = ()


class ProtocolMachine:
    """Base of all protocols; the attributes are its facts, printed by `crownless list`."""

    #: The order the protocol is meant to keep; `asynchronous` promises nothing.
    promises: ClassVar[str]
    #: The channel its text assumes.
    needs_channel: ClassVar[str] = "unordered"
    #: May a process send to itself / to several at once? The text's own assumption.
    admits_self_sends: ClassVar[bool] = False
    admits_multicast: ClassVar[bool] = False
    #: False if a message can be delivered before its send event has happened at the sender (Murty & Garg's commits).
    sends_before_delivery: ClassVar[bool] = True
    #: The protocol's own parameters and their defaults (`--set KEY=VALUE`).
    parameters: ClassVar[Mapping[str, int]] = {}

    #: Local invariants: true of every reachable local state. name → predicate(machine, process, state).
    invariants: ClassVar[Mapping[str, Callable[[Any, int, Any], bool]]] = {}
    #: Local situations that some run should reach. One that none reaches within the bound is told as `unknown`: what
    #: depends on it was not exercised. (Only a search that delivered nothing at all does not pass.)
    witnesses: ClassVar[Mapping[str, Callable[[Any, int, Any], bool]]] = {}

    def __init__(self, n: Value, ops: Ops | None = None, parameters: Mapping[str, int] | None = None) -> None:
        """A machine for a system of n processes. A transition reads n only through `ops`: a proof has no n to give."""
        self.n = n
        self.settings = {**self.parameters, **(parameters or {})}
        self.ops: Ops = ops if ops is not None else Integers(n)

    def initial(self, i: int) -> Any:
        """The local state of process i before anything happened."""
        raise NotImplementedError

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        """The application at process i hands over a message."""
        raise NotImplementedError

    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        """May process i take this packet in now?"""
        return True

    def arrive(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        """Process i takes a packet in; called only where `accepts` holds."""
        raise NotImplementedError

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        """The application at process i asks for a message: from `sender`, or from anybody (None)."""
        return ()

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        """The named steps that process i can take by itself."""
        return ()
