"""Packets that follow each other without end: a search would never end, or find nothing but ever longer runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from crownless.spec.computation import Message

from .node import Arrival, History, Input, NodeFailure, Send, Transmits
from .queries import Queries


def note_endless_packets(queries: Queries, messages: Iterable[Message], processes: int, inputs: int) -> bool:
    """Sends each of these messages alone, and gives packets on in the order in which they were transmitted.

    Where a node has had more than `inputs` before there are no more, the first packet that was answered by packets is
    noted as what floods; true if there is one.
    """
    found = [_is_endless(queries, message, processes, inputs) for message in messages]
    return any(found)


def _is_endless(queries: Queries, message: Message, processes: int, inputs: int) -> bool:
    histories: list[History] = [()] * processes
    waiting: deque[tuple[int, Input]] = deque([(message.sender, Send(message))])
    first: tuple[int, History, Input] | None = None
    while waiting:
        process, given = waiting.popleft()
        history = histories[process]
        if len(history) >= inputs:
            at = first or (process, history, given)
            said = (
                f"its packets are answered by packets without end: after that message alone P{process + 1} "
                f"has had {inputs:,} inputs, and there are still more for it"
            )
            queries.fails(*at, NodeFailure("floods", said))
            return True
        try:
            answer = queries(process, history, given)
        except NodeFailure:
            return False
        histories[process] = (*history, given)
        packets = [one for one in answer.outputs if isinstance(one, Transmits)]
        if any(not 0 <= one.to < processes for one in packets):
            return False
        if packets and first is None and isinstance(given, Arrival):
            first = (process, history, given)
        waiting += [(one.to, Arrival(process, one.body)) for one in packets]
    return False
