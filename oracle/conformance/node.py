"""A node of a foreign implementation: its inputs, its outputs, and the ways in which it can fail.

A deterministic node is a function of its inputs. So a node is described by all its inputs so far. An implementation
(`in_process`, `out_of_process`) starts nodes and gives them one input at a time; this module decides which nodes keep
running, and which are started anew.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from crownless.spec.computation import Message


@dataclass(frozen=True, slots=True)
class Send:
    """The application sends a message, to one process or to several at once.

    `reply` (of any input): the message that the application sends from inside the next resulting delivery.
    """

    message: Message
    reply: Message | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A packet arrives. Its body is opaque here."""

    source: int
    body: Hashable
    reply: Message | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """Time passes: the node takes any steps of its own now."""

    reply: Message | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """The node has crashed, and restarts with its saved state, such as on disk."""

    reply: Message | None = None


Input = Send | Arrival | Tick | Restart
#: The inputs that a node has had, in order.
History = tuple[Input, ...]
#: A process and the inputs of its node; the query is for the answer to the last of them.
Query = tuple[int, History]


@dataclass(frozen=True, slots=True)
class Transmits:
    """The node puts a packet on the channel."""

    to: int
    body: Hashable


@dataclass(frozen=True, slots=True)
class Delivers:
    """The node delivers a message to its application. Messages are known by their names (`name_for_nodes`)."""

    message: str


@dataclass(frozen=True, slots=True)
class Queues:
    """The node takes a message from its application, but its send event does not happen yet."""

    message: str


@dataclass(frozen=True, slots=True)
class Sends:
    """The send event of a queued message happens."""

    message: str


@dataclass(frozen=True, slots=True)
class Pending:
    """The node is left with a timer, a thread or a running task of its own; `what` names it. Always the last output."""

    what: str


Output = Transmits | Delivers | Queues | Sends | Pending
#: The outputs of one input, in order.
Answer = tuple[Output, ...]


def left_pending(answer: Answer) -> str | None:
    """The timer, thread or task that the node is left with, in words; None if it is idle."""
    return next((output.what for output in answer if isinstance(output, Pending)), None)


#: The races that are not tried of nodes with tasks or threads of their own.
ONE_AT_A_TIME = "inputs are given one at a time, when the node is idle; races between its own tasks are not tested"

#: The ways in which a node fails, each with the property that it violates.
FAILURES = {
    "node-fails": "no node raises an exception, exits or crashes",
    "hangs": "every node answers in time",
    "floods": "every answer is within the limits, and packets do not trigger each other forever",
    "speaks-unasked": "every node is silent between its answer and the next input",
    "not-understood": "every line the node prints follows the line protocol",
    "invents": "nodes deliver only what applications sent, to its receivers, and transmit only to existing processes",
    "not-deterministic": "the same inputs always give the same outputs",
}
#: With one of these two nothing else is certain, since answers vary or may belong to other inputs.
VARYING = ("not-deterministic", "speaks-unasked")
#: Why a property is unknown of nodes that fail: nothing is judged beyond a failure.
FAILS_FIRST = "a node fails first"


class NodeFailure(Exception):
    """A node failed at an input: one of `FAILURES`, and a description."""

    def __init__(self, kind: str, said: str) -> None:
        assert kind in FAILURES
        super().__init__(said)
        self.kind = kind
        self.said = said


@dataclass(frozen=True)
class NodeLimits:
    """For one input: seconds, outputs, and bytes of its answer. For one run: inputs of one node."""

    seconds: float = 5.0
    outputs: int = 1000
    bytes: int = 1 << 22
    inputs: int = 200


class Node(ABC):
    """A running node. Unusable after a `NodeFailure`."""

    @abstractmethod
    def answer(self, given: Input) -> Answer:
        """The answer to an input; raises `NodeFailure`."""

    @abstractmethod
    def close(self) -> None:
        """Ends the node."""

    def finish(self) -> None:
        """Ends the node; raises `NodeFailure` if it has said anything beyond its answers."""
        self.close()


class Implementation(ABC):
    """A foreign implementation of `n` nodes, called `name` in reports. `limits` on each answer."""

    #: The most answers that new nodes repeat.
    most_repeats = 50_000
    #: True if an application can send from inside a delivery.
    takes_replies = True
    #: True if time can pass at a node, and it can restart.
    takes_steps = True
    #: True if a running node can begin anew at any process.
    resets = False
    #: True if the answer to one input may be mistaken for that to another.
    may_shift = False
    #: The properties that they promise, of `impl.protocol.PROMISES`; none: they do not say.
    promises: tuple[str, ...] = ()
    #: Why the answers may not include all of the nodes' output, in words.
    best_effort: str | None = None
    #: The interleavings that are not tried, in words: `ONE_AT_A_TIME`, unless nodes have no tasks of their own.
    not_tried: str = ""

    def __init__(self, name: str, n: int, limits: NodeLimits | None) -> None:
        self.name = name
        self.n = n
        self.limits = limits or NodeLimits()
        #: The running node at each process, and its inputs so far.
        self._running: dict[int, tuple[History, Node]] = {}

    @abstractmethod
    def start(self, process: int, running: Node | None = None) -> Node:
        """A node without any input yet, replacing the running one; raises `NodeFailure`."""

    def give(self, process: int, inputs: History) -> tuple[int, list[Answer | NodeFailure]]:
        """How many of these inputs the node at `process` has had already, and its answers to the others (at least one).
        A failure comes last.
        """
        had, node = self._running.pop(process, ((), None))
        answers: list[Answer | NodeFailure] = []
        try:
            if node is None or had != inputs[: len(had)] or len(had) == len(inputs):
                had, node = (), self.start(process, node)
            for one in inputs[len(had) :]:
                answers.append(node.answer(one))
        except BaseException as error:
            if node is not None:
                node.close()
            if not isinstance(error, NodeFailure):
                raise
            answers.append(error)
        else:
            self._running[process] = inputs, node
        return len(had), answers

    def give_anew(
        self, queries: Sequence[Query], before_query: Callable[[], None] = lambda: None
    ) -> list[Answer | NodeFailure]:
        """The answer to the last input of each query, by nodes new for each query, or at least for each call."""
        last: list[Answer | NodeFailure] = []
        node: Node | None = None
        try:
            for number, (process, inputs) in enumerate(queries):
                before_query()
                try:
                    node = self.start(process, node)
                    answer: Answer = ()
                    for one in inputs:
                        answer = node.answer(one)
                    if number + 1 == len(queries) or not self.resets:
                        node.finish()
                        node = None
                    last.append(answer)
                except NodeFailure as failure:
                    last.append(failure)
                    if node is not None:
                        node.close()
                        node = None
        finally:
            if node is not None:
                node.close()
        return last

    def finish(self) -> None:
        """Ends the running nodes; raises `NodeFailure` if one has said anything beyond its answers."""
        try:
            while self._running:
                _, (_, node) = self._running.popitem()
                node.finish()
        finally:
            self.close()

    def close(self) -> None:
        """Ends everything that was started."""
        while self._running:
            _, (_, node) = self._running.popitem()
            node.close()


def name_for_nodes(message: Message) -> str:
    """The name for nodes of a message of the free workload: ASCII without spaces, such as `1-2.1`.

    Names carry no order, neither as texts nor as numbers: a node that orders by them is found out.
    """
    return f"{message.name.partition('#')[0].replace('→', '-')}.{number_for_nodes(message)}"


def number_for_nodes(message: Message) -> int:
    """The number in that name: of each three on a channel, they are sent as 1, 2, 0, or on other channels as 2, 0, 1.

    So within two messages between two processes, or three on one channel, a later one has now the greater, now the
    smaller number.
    """
    position = int(message.name.rpartition("#")[2])
    others = sum([q for q in message.receivers if q != message.sender])
    return (position - 1) // 3 * 3 + (position + (others + 1) % 2) % 3
