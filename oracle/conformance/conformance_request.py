"""The request for a conformance check, and the names of the decided orders and properties."""

from dataclasses import dataclass

from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE, NEVER_BLOCKS
from crownless.runtime.printable import in_brackets, some
from crownless.spec.enumeration import Sends, with_self_sends
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


@dataclass(frozen=True, repr=False)
class Request:
    """A request to decide which orders an implementation keeps.

    `orders`: the orders that it claims to keep. `delivery`: the delivery properties that it promises. `replies`: the
    maximum number of messages that applications also send from inside deliveries. `ticks`: the ticks at each process;
    `restarts`: the maximum crashes and restarts of each. `broadcast-to-all` becomes `broadcast` with `self_sends`.
    """

    processes: int = 3
    messages: int = 3
    channel: str = "unordered"
    orders: tuple[str, ...] = ()
    sends: Sends = "unicast"
    self_sends: bool = False
    replies: int | None = None
    ticks: int = 0
    restarts: int = 0
    delivery: tuple[str, ...] = DELIVERY

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
