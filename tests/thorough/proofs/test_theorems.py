"""Theorems on computations of any size: their hypotheses are needed; formulas of one size have what is enumerated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
import z3

from crownless.impl.protocol import Step
from crownless.impl.protocols.murty_garg import MurtyGarg, State
from crownless.impl.variant import variant
from crownless.proofs.induction.theorem import Claim, theorem, without_each
from crownless.research.claims import bundled, delays, thresholds
from crownless.research.claims.gathering import figure
from crownless.research.claims.ledger import CLAIMS, recompute
from crownless.research.claims.splits import Split, split_by_names
from crownless.research.theorems import (
    buffer_reach,
    conditions,
    few_entries,
    impossible_protocols,
    synchronous,
    total_order,
    waiting_messages,
)
from crownless.research.theorems import smallest_synchronous as search
from crownless.research.theorems.bounded import Bounded, BoundedSearchGaveUp
from crownless.research.theorems.computation import NEVER, AnyComputation
from crownless.research.theorems.evidence import fact
from crownless.research.theorems.smallest_clearing import Clearings
from crownless.research.variants.for_murty_garg import AcknowledgesAtOnce
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

# -- each hypothesis is needed -----------------------------------------------------------------------------------------


def needed(*claims: Claim) -> set[str]:
    """The hypotheses without which z3 has something against one of the claims."""
    return {name for claim in claims for name, verdict in without_each(*claim).items() if verdict.outcome == "refuted"}


#: The claims of a theorem, and the hypotheses that are needed; None: all of them.
NEEDED: dict[str, tuple[list[Claim], set[str] | None]] = {
    "bounded sends": ([impossible_protocols.bounded_sends_claim()], None),
    "bounded receives": ([impossible_protocols.bounded_receives_claim()], None),
    "symmetry": (impossible_protocols.symmetric_claims(), None),
    "Theorems 1 and 2": (
        [*synchronous.theorem_1_claims(), *synchronous.theorem_2_claims()],
        {
            "SYNC: T(s) = T(r)", "SYNC: T grows along ≺", "self-sends are excluded",
            "→ lies within what holds ≺ and ⇝ and is transitive", "a cycle has two messages or more",
        },
    ),
    "a total order": ([total_order.inclusion("lost"), total_order.inclusion("pending")], None),
    "the sum of [SES]": ([waiting_messages.bound_claim()], None),
    "entries in columns": ([*few_entries.pigeonhole_claims(), *few_entries.clearing_claims()], None),
    "Fig. 8 is never generated": ([buffer_reach.never_generated(figure("mf-fig8"))], None),
    "Theorem 7": (synchronous.four_lemmas(), {"SP", "RP", "each message is acknowledged"}),
}  # fmt: skip


@pytest.mark.parametrize("theorem", NEEDED)
def test_hypotheses_are_needed(theorem: str) -> None:
    claims, names = NEEDED[theorem]
    assert names or needed(*claims) == {name for claim in claims for name in claim.given}
    assert (names or set()) <= needed(*claims)


def test_each_hypothesis_of_lemma_4_is_needed_but_for_what_the_size_says_in_any_case() -> None:
    """Whether z3 proves a claim without the redundant one depends on what it was asked before: that is shown apart."""
    redundant = "a cycle has two messages or more"
    for claim, size in zip(conditions.lemma_4_claims(), ("two messages", "three messages or more"), strict=True):
        needless = {name for name, verdict in without_each(*claim, effort=200_000).items() if verdict}
        assert needless <= {redundant}
        assert theorem(redundant, {size: claim.given[size]}, claim.given[redundant])


def test_what_is_proved_of_two_processes_is_not_of_nothing() -> None:
    two = impossible_protocols.TwoProcesses()
    given = {**two.symmetric(), **two.alike()}
    assert theorem("alike by itself", given, NEVER).outcome == "refuted"


def test_each_hypothesis_of_the_bound_on_acknowledgements_is_needed() -> None:
    """Nothing follows without one of them, though without the last z3 may not come to an answer."""
    for about, redundant in (
        ("a send is open", set[str]()),
        ("an acknowledgement is withheld", {"packets take at most t"}),
    ):
        dropped = without_each(*delays.step(about))
        assert {name for name, verdict in dropped.items() if verdict} == redundant


# -- computations of one size, as formulas -----------------------------------------------------------------------------


Key = tuple[Any, Any, tuple[int, ...]]


def key(split: Split) -> Key:
    messages = [(message.sender, message.receivers) for message in split.whole.messages]
    return split.whole.lines, tuple(messages), split.own


def by_formula(some: Bounded) -> set[Key]:
    """All that z3 finds."""
    found: list[Key] = []
    while some.exists():
        model = some.solver.model()
        kept = [*(term for row in some.at for term in row), *some.goes.values(), *some.own]
        true = {str(term) for term in kept if z3.is_true(model.eval(term, model_completion=True))}
        found.append(key(_split(some, true)))
        some.add(z3.Not(z3.And([term == (str(term) in true) for term in kept])))
    assert len(found) == len(set(found)), "each once"
    return set(found)


def _split(some: Bounded, true: set[str]) -> Split:
    """The computation in which these variables are true."""
    at = [next(p for p in range(some.n) if f"at {e} {p}" in true) for e in some.places]
    goes = [pair for pair in sorted(some.goes) if "goes {} {}".format(*pair) in true]
    names = {e: f"{'m' if f'own {e}' in true else 'c'}{number}" for number, (e, _) in enumerate(goes)}
    lines: list[list[Event]] = [[] for _ in range(some.n)]
    for e in some.places:
        (number,) = (number for number, pair in enumerate(goes) if e in pair)
        lines[at[e]].append(Event("send" if e in names else "receive", number))
    messages = [Message(names[a], at[a], (at[b],)) for a, b in goes]
    return split_by_names(Computation.of_lines(some.n, messages, lines))


def by_enumeration(n: int, m: int, holds: Callable[[Split], bool]) -> set[Key]:
    every = (Split(c, own) for c in computations(n, m) for size in range(m + 1) for own in combinations(range(m), size))
    return {key(split) for split in every if holds(split)}


def _acknowledgements_alone(some: search.Conditions) -> None:
    """Each control message is one."""
    acks = some.acknowledgements()
    for e in some.places:
        some.add(z3.Implies(some.sends[e], z3.Or(some.own[e], *(acks[a, e] for a in range(e)))))


NARROWED: Mapping[str, tuple[Callable[[Any], None], Callable[[Any], bool]]] = {
    "all": (lambda some: None, lambda split: True),
    "SC": (search.Conditions.require_send_condition, Split.send_condition),
    "RC": (search.Conditions.require_receive_condition, Split.receive_condition),
    "PR": (search.Conditions.require_priority_rule, Split.ranked),
    "acknowledgements": (_acknowledgements_alone, Split.answers_only),
    "own crown": (search.Conditions.require_own_crown, lambda split: not decide(split.application, "synchronous").kept),
    "crown": (
        lambda some: some.add(some.closed_walk("crown", some.maps_to_as_printed(), 2)),
        lambda split: 2 in split.crown_sizes(split.maps_to_as_printed),
    ),
    "strong crown": (
        lambda some: some.add(some.closed_walk("crown", some.send_then_receive, 2)),
        lambda split: 2 in split.crown_sizes(split.precedes),
    ),
}


@pytest.mark.parametrize(("n", "m"), [(3, 2), (2, 3)])
@pytest.mark.parametrize("name", NARROWED)
def test_the_formula_has_each_computation_once_and_each_condition_as_it_is_defined(name: str, n: int, m: int) -> None:
    narrow, holds = NARROWED[name]
    some = search.Conditions(n, m)
    narrow(some)
    assert by_formula(some) == by_enumeration(n, m, holds) != set()


def test_smaller_sizes_cover_all_that_is_smaller() -> None:
    assert search.sizes_below(search.Size(3, 3)) == [(1, 2), (2, 4), (3, 2)]
    assert len(by_formula(Bounded(4, 1))) == 2 * 12, "one process may be idle"


def test_z3_is_not_believed_where_it_gives_up() -> None:
    some = search.breaks_theorem_6(4, 4)
    some.solver.set(rlimit=1)
    with pytest.raises(BoundedSearchGaveUp):
        some.exists()
    (finding,) = recompute([replace(CLAIMS["MF1"], recompute=lambda quick: fact(some.exists(), ""))])
    assert finding.verdict == "open"
    assert finding.evidence.because.startswith("z3 came to no answer: ")


# -- counterexamples are of what is false: with the premise restored, they are none ------------------------------------


def test_happened_before_lies_within_chains_and_not_within_the_printed_relation() -> None:
    c = conditions.AnySplit()
    path = {"e ↦ f": c.maps_to_as_printed(c.e, c.f), "f ↦ g": c.maps_to_as_printed(c.f, c.g), **c.computation()}
    assert conditions.maps_to_holds_happened_before().shows
    assert theorem("printed ↦ is transitive", path, c.maps_to_as_printed(c.e, c.g)).outcome == "refuted"


PREMISES = ("require_send_condition", "require_receive_condition", "require_priority_rule")


@pytest.mark.parametrize("dropped", [*PREMISES, None])
def test_each_premise_of_theorem_6_is_needed(dropped: str | None) -> None:
    """Without one of them a smaller computation is an exception, and not with all of them."""
    some = search.Conditions(3, 4)
    some.require_own_crown()
    for premise in PREMISES:
        if premise != dropped:
            getattr(some, premise)()
    assert some.exists() == (dropped is not None)


def test_where_passive_processes_ask_nobody_fig_8_has_no_such_run() -> None:
    """Without requests on a way of → the smallest computation that z3 finds is none any more."""
    assert not search.breaks_rc_as_fig_8_may(4, 5).exists()
    no_requests = search.breaks_rc_as_fig_8_may(4, 6)
    _acknowledgements_alone(no_requests)
    assert not no_requests.exists()


def _keeps_acks_back(self: MurtyGarg, i: int, state: State) -> Step:
    """Queued messages go before queued acknowledgements, which so wait for more than the send that was open."""
    if not state.messages:
        return MurtyGarg.acknowledged(self, i, state)
    message, *rest = state.messages
    return self.commit_and_send(i, State(False, tuple(rest), state.acks), message)


@pytest.mark.parametrize(
    ("kind", "withheld"),
    [(MurtyGarg, 2), (variant(MurtyGarg, acknowledged=_keeps_acks_back), 4), (AcknowledgesAtOnce, 0)],
    ids=["Fig. 8", "queued messages first", "acknowledges at once"],
)
def test_acknowledgements_are_withheld_for_twice_the_smaller_processes_at_most(kind: Any, withheld: int) -> None:
    assert delays.bound(3) == 2
    assert delays.longest(3, 3, kind).withheld == withheld


def test_one_extra_message_leaves_too_many_entries_in_the_bundled_run() -> None:
    run = bundled.run("counterexample-sa6")
    kinds = [action.action for action in run.actions]
    assert (kinds.count("send"), kinds.count("deliver")) == (thresholds.MESSAGES, thresholds.DELIVERIES)
    assert thresholds.left_by_one() == run
    assert not Clearings(4, 5, 9, 2).exists()


def test_any_computation_says_what_the_texts_say_of_one() -> None:
    """The hypotheses are not contradictory."""
    c = AnyComputation()
    given = {**c.computation(), **c.happened_before(), **c.acknowledged(), "SP": c.send_protocol()}
    assert theorem("nothing", given, NEVER).outcome != "proved"
