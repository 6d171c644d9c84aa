"""Lamport's clocks and vector clocks, and what late messages say of causal order ([SES] §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from replay import violations

from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.runtime.errors import BadInput
from crownless.spec import library, notation
from crownless.spec.clocks import CLOCKS, LamportClock, VectorClock, readings, stale_messages
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

Generate = Callable[[], Iterator[Computation]]

LAMPORT, VECTOR = LamportClock(), VectorClock()
ALL = [
    pytest.param(c, id=name)
    for name, c in {
        "3,3": lambda: computations(3, 3),
        "2,4": lambda: computations(2, 4),
        "4,2": lambda: computations(4, 2),
        "3,2 multicasts": lambda: computations(3, 2, sends="multicast"),
    }.items()
]


def figure(name: str) -> Computation:
    return notation.to_computation(notation.load(library.path(name)))


def causal(c: Computation) -> bool:
    """Is causal order kept? Everything is received here, as [SES] §4.1 has it."""
    return decide(c, "causal", "lost").kept


@pytest.mark.parametrize("generate", ALL)
def test_proposition_1_a_violation_of_causal_order_makes_a_message_late_by_lamports_clocks(generate: Generate) -> None:
    for c in generate():
        assert causal(c) or stale_messages(c, LAMPORT)


def test_the_converse_of_proposition_1_fails_in_figure_3_and_already_with_two_messages() -> None:
    fig3 = figure("ses-fig3")
    assert causal(fig3)
    assert stale_messages(fig3, LAMPORT)
    assert not stale_messages(fig3, VECTOR)
    smallest = [
        (m, n) for m in (1, 2) for n in (2, 3) for c in computations(n, m) if causal(c) and stale_messages(c, LAMPORT)
    ]
    assert min(smallest) == (2, 3)


@pytest.mark.parametrize("generate", ALL)
def test_proposition_2_causal_order_is_violated_iff_a_message_is_late_by_vector_clocks(generate: Generate) -> None:
    for c in generate():
        assert causal(c) == (not stale_messages(c, VECTOR))


def test_proposition_2_needs_that_nobody_sends_to_himself() -> None:
    (c,) = computations(1, 1, self_sends=True)
    assert causal(c)
    assert stale_messages(c, VECTOR) == [(0, 0)]


@pytest.mark.parametrize("generate", ALL)
def test_lemma_1_and_section_4_1_vector_times_are_happened_before(generate: Generate) -> None:
    for c in generate():
        shown = readings(c, VECTOR)
        for e in range(c.event_count):
            for f in range(c.event_count):
                if e == f:
                    continue
                i = c.process_of[e]
                assert VECTOR.is_stale(shown[e].time, shown[f].time) == c.happened_before(e, f)
                assert (shown[e].time[i] <= shown[f].time[i]) == c.happened_before(e, f)


def test_lamports_times_grow_along_happened_before_and_not_only_there() -> None:
    c = figure("ses-fig3")
    times = [reading.time for reading in readings(c, LAMPORT)]
    pairs = [(e, f) for e in range(c.event_count) for f in range(c.event_count)]
    assert all(times[e] < times[f] for e, f in pairs if c.happened_before(e, f))
    assert any(times[e] < times[f] and c.concurrent(e, f) for e, f in pairs)


@pytest.mark.parametrize(("protocol", "n", "m"), [("unordered", 2, 3), ("unordered", 3, 3), ("rst-column", 3, 3)])
def test_worn_in_a_run_vector_clocks_report_a_violation_as_soon_as_it_can_be_seen(
    protocol: str, n: int, m: int
) -> None:
    found = violations(run_check(Check(protocol, n, m, clocks=tuple(CLOCKS))))
    # The overtaken message must arrive too: one action more than it takes to overtake it.
    assert found["vector-times"] == found["causal"] + 1
    assert found["lamport-times"] <= found["vector-times"]


@pytest.mark.parametrize("protocol", ["rst", "ses", "buffer", "isis"])
def test_a_causal_protocol_makes_messages_late_by_lamports_clocks_and_never_by_vector_clocks(protocol: str) -> None:
    assert set(violations(run_check(Check(protocol, 3, 3, clocks=tuple(CLOCKS))))) == {"lamport-times"}


def test_clocks_that_nobody_can_wear_are_refused() -> None:
    with pytest.raises(BadInput, match="unknown clock 'vector'; did you mean 'vector-times'"):
        run_check(Check("rst", clocks=("vector",)))
    for protocol in ("murty-garg", "ses-rollback"):
        with pytest.raises(BadInput, match="have no times"):
            run_check(Check(protocol, clocks=("vector-times",)))
