"""The causal pasts of an abstraction are those of the applications' events: no other history is taken for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from crownless.proofs.induction.queue_abstraction import Fixed, StageEvent
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.step_refinement import step_claims
from crownless.proofs.induction.theorem import theorem
from crownless.proofs.protocols.buffer import BUFFER, Buffers
from crownless.proofs.proving import PROOFS, prove

OF_PASTS = ": the causal past is that of the applications' events"

Change = Callable[[Any, StageEvent], StageEvent]


def learning(what: Callable[[Any, Any], Any], *, at_all: bool = False) -> Change:
    """After the event i, or every process, knows also the messages that satisfy this, and no others."""

    def changed(run: Any, event: StageEvent) -> StageEvent:
        now, l = run.before, run.logic

        def knows(p: Any, x: Any) -> Any:
            return l.either(now.knows(p, x), l.both(l.both() if at_all else p == run.i, what(run, x)))

        return event._replace(after=event.after.also(knows=knows))

    return changed


def fixing(where: Callable[[Any, Any, Any], Any], value: Callable[[Any, Any], Any]) -> Change:
    """The event fixes of two messages with `where` whether the first was sent causally before the second."""

    def changed(run: Any, event: StageEvent) -> StageEvent:
        fixed = Fixed(lambda x, y: where(run, x, y), lambda x, y: value(run, x))
        return event._replace(fixes={**event.fixes, "precedes": fixed})

    return changed


def of_m(run: Any, x: Any, y: Any) -> Any:
    return y == run.m


def sent_again(run: Any, event: StageEvent) -> StageEvent:
    """A message that was sent before; the time of its send stays."""
    again = {"i sends m again": run.logic.both(run.sender(run.m) == run.i, run.before.sent(run.m))}
    return event._replace(given=again, fixes={"precedes": event.fixes["precedes"]})


#: What is wrong, the event of which it is, and the event as changed.
WRONG: dict[str, tuple[str, Change]] = {
    "a delivery is forgotten": ("deliver", learning(lambda run, x: run.logic.either())),
    "the message's own past is forgotten": ("deliver", learning(lambda run, x: x == run.m)),
    "only the message's past is learnt": ("deliver", learning(lambda run, x: run.precedes(x, run.m))),
    "everybody learns of a delivery": (
        "deliver",
        learning(lambda run, x: run.logic.either(x == run.m, run.precedes(x, run.m)), at_all=True),
    ),
    "a send is forgotten": ("send", learning(lambda run, x: run.logic.either())),
    "everybody learns of a send": ("send", learning(lambda run, x: x == run.m, at_all=True)),
    "a message has no past": ("send", fixing(of_m, lambda run, x: run.logic.either())),
    "a message's past is its receiver's": (
        "send",
        fixing(of_m, lambda run, x: run.before.knows(run.receiver(run.m), x)),
    ),
    "the past of every message is fixed by a send": (
        "send",
        fixing(lambda run, x, y: run.logic.both(), lambda run, x: run.before.knows(run.i, x)),
    ),
    "a message that is known is sent": ("send", sent_again),
    "a message is learnt when it is posted": ("post", learning(lambda run, x: x == run.m)),
    "a message is learnt when it is got": ("get", learning(lambda run, x: x == run.m)),
    "the past is fixed when a message is got": ("get", fixing(of_m, lambda run, x: run.before.knows(run.i, x))),
    "an acknowledgement carries what the receiver knows": (
        "acknowledge",
        learning(lambda run, x: run.before.knows(run.receiver(run.m), x)),
    ),
}


def changed(name: str, change: Change) -> type[Buffers]:
    """The abstraction of the buffers with one event changed."""

    class Changed(Buffers):
        def events(self) -> list[StageEvent]:
            return [change(self, event) if event.name == name else event for event in super().events()]

    return Changed


def not_shown(abstraction: type[Buffers]) -> set[str]:
    """The events whose causal pasts are not shown to be those of the applications' events."""
    claims = [claim for claim in step_claims(replace(BUFFER, abstraction=abstraction)) if claim.name.endswith(OF_PASTS)]
    assert len(claims) == len(abstraction().events()), "one for each event"
    return {claim.name.removesuffix(OF_PASTS) for claim in claims if not theorem(*claim, effort=200_000)}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_history_that_is_not_the_causal_past_is_seen(wrong: str) -> None:
    name, change = WRONG[wrong]
    assert not_shown(changed(name, change)) == {name}


def test_the_causal_pasts_of_the_buffers_are_shown() -> None:
    assert not_shown(Buffers) == set()


def test_with_a_history_that_is_not_the_causal_past_nothing_is_proved() -> None:
    """Not safe either, though what the abstraction calls safe is shown of it."""
    report = prove("buffer", replace(BUFFER, abstraction=changed(*WRONG["a delivery is forgotten"])), 200_000)
    assert [put.claim.name for put in report.failures] == [f"deliver{OF_PASTS}"]
    assert report.proved == []


def test_every_abstraction_that_speaks_of_causal_pasts_has_them_compared() -> None:
    of_queues = {name: proof for name, proof in PROOFS.items() if isinstance(proof, QueueProof)}
    compared = {
        name: sum(claim.name.endswith(OF_PASTS) for claim in step_claims(proof)) for name, proof in of_queues.items()
    }
    for name, proof in of_queues.items():
        speaks = "causally before" in proof.shown["safe"].means
        assert compared[name] == (len(proof.abstraction().events()) if speaks else 0)
    assert compared["buffer"] == 5
