"""The request for a conformance check, and the names of the decided orders and properties."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Self

from crownless.impl import own_protocols
from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE, NEVER_BLOCKS
from crownless.model_check.system.request import CHANNEL_NAMES, KINDS_OF_SENDS, MAX_MESSAGES, MAX_PROCESSES
from crownless.runtime.printable import in_brackets, some
from crownless.runtime.requests import Limited, option
from crownless.spec.enumeration import Sends, known_sends, with_self_sends
from crownless.spec.orders import ORDERS, telling

#: The orders that are decided, the weakest first.
JUDGED = tuple(name for name in ORDERS if name != "asynchronous")
#: The orders that are monitored in every run; the others are decided on complete computations.
MONITORED = ("fifo", "causal", "synchronous", "total")
#: Delivery properties other than order.
DELIVERY = (DELIVERS_ONCE.name, DELIVERS_ALL.name, NEVER_BLOCKS.name)
#: The search in which applications reply.
WITH_REPLIES = "replies from inside deliveries"
#: The default maximum of messages sent in replies.
REPLIES = 3
#: Seconds that a node has for an answer.
TIMEOUT = 5.0


def sends_of(node: object) -> Sends:
    """The kind of sends of a class of nodes, or of its name, by the class attribute `sends`; of others: unicast."""
    kind = own_protocols.load_node(node) if isinstance(node, str) and own_protocols.is_own(node) else node
    said = getattr(kind, "sends", None)
    return known_sends(said) if isinstance(said, str) else "unicast"


@dataclass(frozen=True, repr=False)
class Request:
    """A request to decide which orders an implementation keeps: the options of `crownless conform` that say over which
    schedules. `broadcast-to-all` becomes `broadcast` with `self_sends`.
    """

    processes: int = field(
        default=3, metadata=option("Number of processes.", "number", "-n", "--processes", most=MAX_PROCESSES)
    )
    messages: int = field(
        default=3, metadata=option("Total number of sends.", "number", "-m", "--messages", most=MAX_MESSAGES)
    )
    _: KW_ONLY
    channel: str = field(default="unordered", metadata=option(f"{CHANNEL_NAMES}.", "name", "--channel"))
    orders: Sequence[str] = field(
        default=(),
        metadata=option("Order that the implementation claims to keep.", "names", "--order", metavar="ORDER"),
    )
    sends: Sends = field(
        default="unicast",
        metadata=option(f"{KINDS_OF_SENDS}.  [default: the class's own, or unicast]", "name", "--sends"),
    )
    self_sends: bool = field(
        default=False, metadata=option("Processes may also send to themselves.", "flag", "--self-sends")
    )
    replies: int | None = field(
        default=None,
        metadata=option(
            f"Also send from inside deliveries, up to M messages; 0: never.  [default: {REPLIES}, or as many as -m]",
            "number",
            "--replies",
            least=0,
            metavar="M",
        ),
    )
    ticks: int = field(
        default=0, metadata=option("Number of clock ticks at each process.", "number", "--ticks", least=0)
    )
    restarts: int = field(
        default=0,
        metadata=option(
            "How many times each process may crash and restart with what it saved.", "number", "--restarts", least=0
        ),
    )
    #: The delivery properties that it promises.
    delivery: tuple[str, ...] = field(default=DELIVERY)

    @classmethod
    def about(cls, nodes: object, **given: Any) -> Self:
        """The request about a class of nodes, its name, or a command, whose kind of sends is the default."""
        return cls(sends=known_sends(given.pop("sends", None) or sends_of(nodes)), **given)

    def __post_init__(self) -> None:
        sends, self_sends = with_self_sends(self.sends, self.self_sends)
        object.__setattr__(self, "sends", sends)
        object.__setattr__(self, "self_sends", self_sends)

    def __repr__(self) -> str:
        return in_brackets(f"request: {self.processes} processes, {self.messages} messages, {self.channel} channel")

    @property
    def bound(self) -> str:
        """The processes and messages, in words."""
        return f"{some(self.processes, 'process')} and {some(self.messages, 'message')}"

    @property
    def judged(self) -> tuple[str, ...]:
        """The orders that are decided of messages with as many receivers."""
        return tuple(name for name in JUDGED if name in telling(unicasts=self.sends == "unicast"))

    @property
    def monitored(self) -> tuple[str, ...]:
        """Those that are monitored in every run."""
        return tuple(name for name in self.judged if name in MONITORED)

    @property
    def messages_with_replies(self) -> int:
        return min(self.messages, REPLIES) if self.replies is None else self.replies

    @property
    def own_steps(self) -> list[str]:
        """The steps that each process may take by itself, in words."""
        steps = (("tick", self.ticks), ("restart", self.restarts))
        return [f"up to {some(number, name)} at each process" for name, number in steps if number]


@dataclass(frozen=True, kw_only=True)
class HowToDrive:
    """How nodes are given inputs, and how their packets are compared."""

    ignore: str | None = field(
        default=None,
        metadata=option("Ignore these parts of packets, such as timestamps.", "name", "--ignore", metavar="REGEX"),
    )
    timeout: float = field(
        default=TIMEOUT, metadata=option("Seconds to wait for an answer.", "seconds", "--timeout", least=0.01)
    )


@dataclass(frozen=True, repr=False)
class ConformRequest(Limited, HowToDrive, Request):
    """The arguments of `cr.conform`."""


@dataclass(frozen=True, repr=False)
class RandomRequest(ConformRequest):
    """The arguments of `cr.conform_at_random`, which takes nodes through longer runs."""

    processes: int = field(default=5, metadata=option("Number of processes.", "number", most=MAX_PROCESSES))
    messages: int = field(default=20, metadata=option("Total number of sends.", "number", most=MAX_MESSAGES))
    _: KW_ONLY
    runs: int = field(default=1000, metadata=option("Number of random runs.", "number"))
    seed: int = field(default=0, metadata=option("A number that determines the runs.", "number", least=0))


@dataclass(frozen=True)
class ReplayRequest(HowToDrive):
    """The arguments of `cr.replay`."""

    schedule: str | Path | Mapping[str, Any] = field(metadata=option("The file of a schedule, or its content."))
