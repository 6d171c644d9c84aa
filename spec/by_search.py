"""The definitions of the orders, decided by search: slow, short, and independent of the graph procedures.

FIFO and causal order quantify over pairs of messages, with "happened before" read as *earlier in every linearization*.
The others require a linearization, which is built event by event and abandoned as soon as it violates the order's queue
rule. Meant for small computations, on all of which the tests compare `by_graph` with these.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Protocol

from .computation import Computation, consistent_cuts


class Definition(Protocol):
    """Decides one order by its definition: true if the computation keeps it."""

    def __call__(self, c: Computation, *, pending: bool) -> bool: ...


def asynchronous(c: Computation, *, pending: bool) -> bool:
    """Every computation is asynchronous."""
    return True


def fifo(c: Computation, *, pending: bool, at: frozenset[int] | None = None) -> bool:
    """No message overtakes another one of its sender; `at`: the processes whose deliveries are judged, or all."""
    return _no_pair_overtakes(c, same_sender=True, at=at)


def causal(c: Computation, *, pending: bool, at: frozenset[int] | None = None) -> bool:
    """No message overtakes one that was sent before it, whoever the senders; `at` as for FIFO order."""
    return _no_pair_overtakes(c, same_sender=False, at=at)


def mailbox(c: Computation, *, pending: bool) -> bool:
    """Some linearization has one queue per receiver."""
    return _some_linearization(c, _first_in_queue_of_receiver, pending)


def one_n(c: Computation, *, pending: bool) -> bool:
    """Some linearization has one queue per sender."""
    return _some_linearization(c, _first_in_queue_of_sender, pending)


def n_n(c: Computation, *, pending: bool) -> bool:
    """Some linearization has one queue for all."""
    return _some_linearization(c, _first_in_queue, pending)


def synchronous(c: Computation, *, pending: bool) -> bool:
    """No queue: in some linearization only internal events come between a send and its receives, all of them."""
    return (pending or not c.unreceived) and _some_linearization(c, None, pending)


def total(c: Computation, *, pending: bool) -> bool:
    """Some sequence of all messages is the order in which every process receives."""
    return any(_is_common_order(c, sequence) for sequence in permutations(range(len(c.messages))))


def _is_common_order(c: Computation, sequence: tuple[int, ...]) -> bool:
    """True if each process has received its first messages of the sequence, in that order."""
    for q, line in enumerate(c.lines):
        received = [event.message for event in line if event.kind == "receive"]
        if received != [m for m in sequence if q in c.messages[m].receivers][: len(received)]:
            return False
    return True


def _no_pair_overtakes(c: Computation, *, same_sender: bool, at: frozenset[int] | None) -> bool:
    cuts = list(consistent_cuts(c))
    for m, message in enumerate(c.messages):
        for other, later in enumerate(c.messages):
            if m == other or (same_sender and message.sender != later.sender):
                continue
            if any(cut >> c.send_event[other] & 1 and not cut >> c.send_event[m] & 1 for cut in cuts):
                continue
            both = set(message.receivers) & set(later.receivers)
            if any(c.overtakes(other, m, q) for q in (both if at is None else both & at)):
                return False
    return True


#: A rule says whether message `m` may be received at `q` now, `open_copies` being the copies (message, receiver) sent
#: before it, in order, that are not received yet.
Rule = Callable[[Computation, int, int, tuple[tuple[int, int], ...]], bool]


def _first_in_queue_of_receiver(c: Computation, m: int, q: int, open_copies: tuple[tuple[int, int], ...]) -> bool:
    return all(receiver != q for _, receiver in open_copies)


def _first_in_queue_of_sender(c: Computation, m: int, q: int, open_copies: tuple[tuple[int, int], ...]) -> bool:
    return all(c.messages[other].sender != c.messages[m].sender for other, _ in open_copies)


def _first_in_queue(c: Computation, m: int, q: int, open_copies: tuple[tuple[int, int], ...]) -> bool:
    return not open_copies


def _some_linearization(c: Computation, rule: Rule | None, pending: bool) -> bool:
    """Depth-first search over linearizations; a state is the position on each line, and the open copies in sending
    order.
    """
    seen: set[tuple[tuple[int, ...], tuple[tuple[int, int], ...]]] = set()
    target = tuple(len(line) for line in c.lines)
    stack: list[tuple[tuple[int, ...], tuple[tuple[int, int], ...]]] = [((0,) * len(c.lines), ())]
    while stack:
        state = stack.pop()
        if state in seen:
            continue
        seen.add(state)
        places, open_copies = state
        if places == target and (not pending or not open_copies):
            return True
        for q, line in enumerate(c.lines):
            if places[q] < len(line):
                event = line[places[q]]
                moved = (*places[:q], places[q] + 1, *places[q + 1 :])
                if event.kind == "receive" and event.message is not None:
                    if _may_receive(c, event.message, q, open_copies, rule):
                        stack.append((moved, tuple(copy for copy in open_copies if copy != (event.message, q))))
                elif rule is None and open_copies and event.kind == "send":
                    continue
                elif event.kind == "send" and event.message is not None:
                    copies = tuple((event.message, receiver) for receiver in c.messages[event.message].receivers)
                    stack.append((moved, open_copies + copies))
                else:
                    stack.append((moved, open_copies))
            elif pending:
                for m, receiver in open_copies:
                    if receiver == q and q not in c.receive_events[m] and _may_receive(c, m, q, open_copies, rule):
                        stack.append((places, tuple(copy for copy in open_copies if copy != (m, q))))
    return False


def _may_receive(c: Computation, m: int, q: int, open_copies: tuple[tuple[int, int], ...], rule: Rule | None) -> bool:
    if (m, q) not in open_copies:
        return False
    if rule is None:
        return True  # only one message is ever open
    sends = [other for other, _ in open_copies]
    earlier = tuple(copy for copy in open_copies[: sends.index(m)] if copy[0] != m)
    return rule(c, m, q, earlier)
