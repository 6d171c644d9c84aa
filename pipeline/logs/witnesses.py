"""Witnesses for violations that the streaming monitor found, as JSON, from the events of the messages that it names."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.model_check.event_logs import logged_run, rows_of
from crownless.spec.orders import UnreceivedPolicy, decide
from crownless.spec.printable import as_json

#: An event, by process, kind, message and receivers.
NamedEvent = tuple[str, str, str, Sequence[str]]


def witness(
    order: str,
    events: Sequence[NamedEvent],
    messages: Sequence[str],
    receiver: str | None,
    reading: UnreceivedPolicy,
) -> str:
    """What shows that these messages, of which these are all events, break the order.

    With a `receiver` they are two, and the second overtakes the first there: what comes between their sends may be no
    longer known.
    """
    if receiver is None:
        c = logged_run("", rows_of(events)).computation
        verdict = decide(c, order, reading)
        assert verdict.witness is not None, f"the messages that show {order} broken keep it"
        return as_json(verdict.witness.json(c))
    first, second = messages
    received = any(event[:3] == (receiver, "deliver", first) for event in events)
    overtaking = {"first": first, "second": second, "receiver": receiver, "first_received": received}
    return as_json({"kind": "overtaking", **overtaking})
