"""The properties that a check decides, each with its kind and its meaning; and the monitors that watch them.

- `always`: holds at every step of every run within the bound;
- `live`: holds of every run that goes on to its end, and of every fair run without end. A run may end in a state where
  only optional actions are enabled: a new send in the free workload, and a fault of the channel. It is fair if every
  other action that is possible infinitely often is taken infinitely often (strong fairness), and if each packet that
  is lost infinitely often arrives infinitely often. A packet lost once stays lost;
- `sometimes`: some run reaches it. Otherwise an `always` could hold because nothing ever happened.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from crownless.impl.protocol import PROMISES, ProtocolMachine, promised_orders
from crownless.spec.clocks import Clock
from crownless.spec.orders import ORDERS, weaker

from .monitors import DeliveryMonitor, FifoAndCausal, History, Monitor, TotalOrder
from .open_points import OpenPoints

Kind = Literal["always", "live", "sometimes"]


class Property(NamedTuple):
    """A named property; `meaning` is one sentence. `promised`: false if the protocol does not promise it, so that it
    does not decide the verdict.
    """

    name: str
    kind: Kind
    meaning: str
    promised: bool = True


DELIVERS_ONCE = Property(
    "delivers-once",
    "always",
    "every message is sent at most once, and then delivered only to its receivers, at most once to each",
)
DELIVERS_ALL = Property("delivers-all", "live", "every message handed to the protocol is eventually delivered")
NEVER_BLOCKS = Property(
    "never-blocks",
    "live",
    "each process eventually accepts a send while messages are left, and every accepted one has its send event",
)
COMPLETES = Property(
    "completes", "live", "every process reaches the end of its program, and every send event on the way happens"
)
CAN_COMPLETE = Property("can-complete", "sometimes", "every process reaches the end of its program")
#: Why no order is kept by what delivers nothing.
NOTHING_DELIVERED = "no message is ever delivered"
DELIVERS_SOMETHING = Property("delivers-something", "sometimes", "a message is delivered")
HOLDS_BACK = Property("holds-back", "sometimes", "a packet is there that is not deliverable yet")
RELEASES = Property("releases", "sometimes", "a packet held back in one local state is deliverable in another")

#: The live and the `sometimes` properties that a search sees of any protocol.
LIVE = (DELIVERS_ALL, NEVER_BLOCKS, COMPLETES)
SOMETIMES = (CAN_COMPLETE, DELIVERS_SOMETHING, HOLDS_BACK, RELEASES)

#: What says nothing where nothing is delivered.
OF_DELIVERIES = frozenset({*ORDERS, DELIVERS_ONCE.name})

#: The orders that are defined of the deliveries at one process alone.
AT_ONE_RECEIVER = tuple(order.name for order in ORDERS.values() if order.at_one_receiver)


def properties_of(
    machine: ProtocolMachine, orders: Iterable[str], *, program: bool, crash: bool = False, clocks: Iterable[Clock] = ()
) -> list[Property]:
    """All properties to decide for this protocol: the requested orders, liveness, its invariants, and the witnesses."""
    properties = [Property(name, "always", ORDERS[name].demands) for name in orders if name != "asynchronous"]
    properties += [
        Property(
            clock.name, "always", f"no message arrives where the local time is greater than its own ({clock.source})"
        )
        for clock in clocks
    ]
    properties += [DELIVERS_ONCE]
    properties += [Property(name, "always", f"local invariant {name}") for name in machine.invariants]
    # A survivor may well wait for a packet that the crashed process never sent; but not for one that is there.
    properties += [DELIVERS_ALL] if crash or not program else []
    properties += [COMPLETES, CAN_COMPLETE] if program else [NEVER_BLOCKS]
    properties += [DELIVERS_SOMETHING]
    if type(machine).deliverable is not ProtocolMachine.deliverable:
        properties += [HOLDS_BACK, RELEASES]
    own = dict.fromkeys((*machine.witnesses, *machine.rules))
    properties += [Property(name, "sometimes", name.replace("-", " ")) for name in own]
    return properties


def default_orders(machine: type[ProtocolMachine]) -> tuple[str, ...]:
    """The orders a protocol is checked against by default: the one it promises, and of FIFO and causal order those
    that it implies.

    A protocol that promises nothing is checked against FIFO and causal order, to show that they do not come for free.
    For a protocol that may deliver before the send event, only the promised order, which implies the others ([MG]
    Theorem 1).
    """
    promised = promised_orders(machine)
    if not machine.sends_before_delivery:
        return promised
    if promised == ("asynchronous",):
        return AT_ONE_RECEIVER
    kept = _implied(machine, promised)
    return tuple(name for name in ORDERS if name in promised or (name in kept and name in AT_ONE_RECEIVER))


def _implied(machine: type[ProtocolMachine], orders: Iterable[str]) -> set[str]:
    """These orders, and the weaker ones."""
    unicasts = machine.sends == "unicast"
    return {name for order in orders for name in (order, *weaker(order, unicasts=unicasts))}


def not_promised(machine: type[ProtocolMachine]) -> set[str]:
    """The names of the properties of any protocol that this one does not promise: none, unless it promises by name.

    A program completes if the protocol delivers all and never blocks.
    """
    if isinstance(machine.promises, str):
        return set()
    promised = _implied(machine, promised_orders(machine)).union(machine.promises)
    if promised.issuperset((DELIVERS_ALL.name, NEVER_BLOCKS.name)):
        promised.add(COMPLETES.name)
    return {*PROMISES, COMPLETES.name} - promised


def monitors_of(machine: ProtocolMachine, orders: Iterable[str]) -> list[Monitor]:
    """The monitor of deliveries, and the smallest monitors that together watch these orders in runs of this protocol.

    If events may be undone, the whole computation must be remembered.
    """
    wanted = [order for order in orders if order != "asynchronous"]
    monitors: list[Monitor] = [DeliveryMonitor(sends_before_delivery=machine.sends_before_delivery)]
    if not machine.rolls_back and machine.sends_before_delivery and not set(FifoAndCausal.watches).isdisjoint(wanted):
        monitors.append(FifoAndCausal(machine.n, machine.ordered_at))
    left = [order for order in wanted if not any(order in monitor.watches for monitor in monitors)]
    return [*monitors, *(_monitor_of(machine, order) for order in left)]


def _monitor_of(machine: ProtocolMachine, order: str) -> Monitor:
    """The smallest monitor of that order alone."""
    kind = None if machine.rolls_back else ORDERS[order].monitor
    if kind == "deliveries":
        return TotalOrder(machine.n)
    if kind == "points" and machine.ordered_at is None:
        return OpenPoints(machine.n, order)
    return History(machine.n, order)
