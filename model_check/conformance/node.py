"""A node of a foreign implementation: its inputs, its answers, and the ways in which it can fail.

A deterministic node is a function of the inputs that it has had. So a node is described by its *history*, and whatever
drives one (`in_process`, `out_of_process`) answers one query: which outputs come of this input, after this history?
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from crownless.spec.computation import Message


class Send(NamedTuple):
    """The application sends a message, to one process or to several at once."""

    message: Message
    #: The messages that the application sends from inside the deliveries that come of this input, one each.
    replies: tuple[Message, ...] = ()


class Arrival(NamedTuple):
    """A packet arrives. Its body is the node's own affair."""

    source: int
    body: Hashable
    replies: tuple[Message, ...] = ()


class Tick(NamedTuple):
    """Time passes: whatever the node does by itself, it does now."""

    replies: tuple[Message, ...] = ()
    name: str = "tick"  # without which it would equal another tuple of the same parts


class Restart(NamedTuple):
    """The node has crashed, and starts again with what it had kept for that, such as on disk."""

    replies: tuple[Message, ...] = ()
    name: str = "restart"


class Load(NamedTuple):
    """The node takes on a state that it, or another node at its process, has offered."""

    state: Hashable
    replies: tuple[Message, ...] = ()
    name: str = "load"


Input = Send | Arrival | Tick | Restart | Load
#: All inputs that a node has had, in order; or the last state that it has offered, and those after it.
History = tuple[Input, ...]
#: Who is given what, after which inputs.
Query = tuple[int, History, Input]


class Transmits(NamedTuple):
    """The node puts a packet on the channel."""

    to: int
    body: Hashable


class Queues(NamedTuple):
    """The node takes a message from its application whose send event does not happen yet."""

    message: str
    name: str = "queues"  # without which it would equal another tuple of the same parts


class Sends(NamedTuple):
    """The send event of a message happens that the node had queued."""

    message: str
    name: str = "sends"


class Delivers(NamedTuple):
    """The node delivers a message to its application."""

    message: str
    name: str = "delivers"


#: Messages are known by their names (`name_for_nodes`), all that a node ever sees of them.
Output = Transmits | Queues | Sends | Delivers


class Answer(NamedTuple):
    """The outputs of one input, in order. `state`: that of the node then, if it offers it: a node with that state is to
    go on as this one does."""

    outputs: tuple[Output, ...] = ()
    state: Hashable = None


#: The ways in which a node fails, each as the property that it breaks.
FAILURES = {
    "node-fails": "no node raises an exception, exits or crashes",
    "hangs": "every node answers in time",
    "floods": "no node answers an input with more than the limits allow, and no packets follow each other without end",
    "speaks-unasked": "no node says anything between its answer and the next input",
    "not-understood": "all that a node says is in the form that was agreed",
    "invents": "nodes deliver messages of applications alone, to their receivers, and transmit to processes there are",
    "not-deterministic": "the same inputs always give the same outputs",
}


class NodeFailure(Exception):
    """A node failed at an input: one of `FAILURES`, and what happened, in words. `query`: where, if that is another
    query than the one that was put."""

    def __init__(self, kind: str, said: str, query: Query | None = None) -> None:
        assert kind in FAILURES
        super().__init__(said)
        self.kind = kind
        self.said = said
        self.query = query


@dataclass(frozen=True)
class NodeLimits:
    """For one input: seconds, outputs, bytes of a line, and of all lines. For one run: inputs of one node."""

    seconds: float = 5.0
    outputs: int = 1000
    line: int = 1 << 20
    answer: int = 1 << 22
    inputs: int = 200


class Implementation(Protocol):
    """Drives the nodes of a foreign implementation."""

    #: What it is called in reports.
    name: str
    #: How many processes there are.
    n: int
    limits: NodeLimits
    #: At most so many answers are repeated by nodes that are made anew.
    most_repeats: int

    @property
    def takes_replies(self) -> bool:
        """True if an application can send from inside a delivery."""

    @property
    def takes_on_states(self) -> bool:
        """True if a node can go on from a state that was offered, without the inputs that led to it."""

    @property
    def trusts_running_nodes(self) -> bool:
        """False if an answer may have been taken for that to another input, as of lines without end."""

    @property
    def best_effort(self) -> str | None:
        """Why the answers may not be all that the nodes say, in words; None: they are."""

    def answer(self, process: int, history: History, given: Input) -> Answer:
        """The answer of the node at `process` to an input after this history; raises `NodeFailure`."""

    def answer_anew(self, process: int, history: History, given: Input) -> Answer:
        """The same from a node in which nothing is left of earlier queries."""

    def answers_anew(self, queries: Sequence[Query]) -> list[Answer | NodeFailure]:
        """The answers to these queries from nodes that are made anew, which may be one that forgets everything between
        two of them."""
        return [outcome(self.answer_anew, query) for query in queries]

    def settle(self) -> None:
        """Ends the nodes that run, if more than their answers can show then; raises `NodeFailure` if it does."""
        return

    def place_of(self, process: int, history: History, given: Input, output: int) -> str | None:
        """The line of the user's own code by which the node gives that output of its answer, counted from 0; None if
        that is not known."""
        return None

    def close(self) -> None:
        """Ends all that was started."""


def name_for_nodes(message: Message) -> str:
    """The name by which nodes know a message: ASCII without spaces in the free workload, `1-2.1`."""
    return message.name.replace("→", "-").replace("#", ".")


def outcome(answer: Callable[[int, History, Input], Answer], query: Query) -> Answer | NodeFailure:
    """The answer to a query, or the failure at it."""
    try:
        return answer(*query)
    except NodeFailure as failure:
        return failure
