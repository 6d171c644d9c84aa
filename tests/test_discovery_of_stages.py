"""Invariants of abstractions of queues are found by machine, and nothing is shown of one that breaks."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np
import pytest

from crownless.impl.registry import PROTOCOLS
from crownless.proofs.buffer import BUFFER, Buffers
from crownless.proofs.discovery.discovery import discover
from crownless.proofs.discovery.stages_candidates import InContext, canonical
from crownless.proofs.discovery.stages_discovery import DiscoveredOfStages, discover_of_stages
from crownless.proofs.discovery.stages_grammar import Clause, Context, choices, contexts, truths
from crownless.proofs.discovery.stages_houdini import Broken, Houdini, Induction
from crownless.proofs.discovery.stages_runs import TabulatedState, anything, concrete, is_safe, simulated
from crownless.proofs.murty_garg import MURTY_GARG
from crownless.proofs.queues import QueueProof
from crownless.proofs.stages import About, Abstraction, AbstractState, Part, StageEvent

PROOFS = {"buffer": BUFFER, "murty-garg": MURTY_GARG}


@pytest.fixture(scope="module")
def found() -> DiscoveredOfStages:
    """What is found of `buffer`, in half a minute: once for all tests, which are slow ones."""
    of_buffer = discover("buffer")
    assert isinstance(of_buffer, DiscoveredOfStages)
    return of_buffer


def situations(proof: QueueProof, runs: int = 10) -> list[TabulatedState]:
    random = Random(7)
    return [now for _ in range(runs) for now, _ in simulated(proof, 3, 5, random)]


def context(kind: type[Abstraction], *names: str) -> Context:
    return next(each for each in contexts(kind) if each.names == names)


def clause(of: Context, *literals: str) -> Clause:
    """By how its literals are read, each on its own."""
    read = {str(Clause(of, (place,))).split(": ")[1]: place for place in range(2 * len(of.atoms))}
    return Clause(of, tuple(sorted(read[literal] for literal in literals)))


# -- the grammar -------------------------------------------------------------------------------------------------------


class Lamps(Abstraction):
    """Not a protocol: messages are lamps that processes light."""

    changing = {"lit": Part(("message",), "truth"), "favours": Part(("process",), "message")}
    lasting = {"owner": Part(("message",), "process"), "lit_at": Part(("message",), "number")}

    def start(self) -> AbstractState:
        return AbstractState(self.before.clock, lit=lambda _: self.logic.either(), favours=self.before.favours)

    def events(self) -> list[StageEvent]:
        return []


def test_the_sentences_are_made_of_the_signatures() -> None:
    said = {str(Clause(each, (2 * k,))).split(": ")[1] for each in contexts(Lamps) for k in range(len(each.atoms))}
    assert said == {
        *("lit(x)", "lit(y)", "lit(favours(p))", "x = y", "owner(x) = owner(y)", "p = owner(x)", "p = owner(y)"),
        *("x = favours(p)", "y = favours(p)", "p = owner(favours(p))"),
        *(f"{x} = favours(owner({y}))" for x in "xy" for y in "xy"),
        *("lit_at(x) < clock", "lit_at(y) < clock", "lit_at(favours(p)) < clock"),
        *("lit_at(x) < lit_at(y)", "lit_at(y) < lit_at(x)"),
    }


def test_a_sentence_says_what_the_invariant_of_the_proof_says() -> None:
    """In both readings; of situations in which nothing is known, so that both are true and false."""
    pair = context(Buffers, "x", "y")
    first_out = clause(pair, "¬posted(y)", "¬sent(x)", "sender(x) ≠ sender(y)", "sent_at(x) ≥ sent_at(y)", "posted(x)")
    random, outcomes = Random(2), set()
    for _ in range(60):
        now = anything(BUFFER, 3, 3, random)
        run = concrete(Buffers, now, About(0, 0, 0))
        holds = first_out.of_all(run, run.before)
        assert holds == BUFFER.invariants["an output buffer is first in, first out"](run, run.before, run.logic)
        assert holds != any(True for _ in Broken([pair], [first_out]).by(now))
        outcomes.add(holds)
    assert outcomes == {True, False}


@pytest.mark.parametrize("protocol", PROOFS)
def test_atoms_in_a_table_are_what_they_are_in_plain_values(protocol: str) -> None:
    kind, random = PROOFS[protocol].abstraction, Random(3)
    now = anything(PROOFS[protocol], 2, 2, random)
    run = concrete(kind, now, About(0, 0, 0))
    for each in contexts(kind):
        things, held = choices(each, now), truths(each, now)
        for row, k in product(range(len(held)), range(len(each.atoms))):
            of_these = {name: int(which[row]) for name, which in things.items()}
            assert held[row, k] == Clause(each, (2 * k,)).meaning(run, run.before, of_these)


# -- candidates --------------------------------------------------------------------------------------------------------


def shortest(of: Context, patterns: Any) -> set[tuple[int, ...]]:
    """By trying all of them."""
    found: set[tuple[int, ...]] = set()
    for size in range(1, of.together_plain + 1):
        for some in combinations(range(2 * len(of.atoms)), size):
            plain = all(of.atoms[place // 2] in of.plain for place in some)
            if (size > of.together and not plain) or any(place ^ 1 in some for place in some):
                continue
            shorter = any(part in found for less in range(1, size) for part in combinations(some, less))
            if not shorter and patterns[:, list(some)].any(axis=1).all():
                found.add(some)
    return {canonical(of, some) for some in found}


def some_patterns(of: Context, count: int, random: Random) -> Any:
    """Of two messages in both orders, as situations have them."""
    held = np.array([[random.random() < 0.5 for _ in of.atoms] for _ in range(count)])
    both = np.empty((count, 2 * len(of.atoms)), dtype=bool)
    both[:, ::2], both[:, 1::2] = held, ~held
    return np.concatenate([both, both[:, np.array(of.swapped)]])


@pytest.mark.parametrize("names", [("p",), ("p", "x"), ("x", "y")])
def test_the_shortest_sentences_are_found_and_weakened(names: tuple[str, ...]) -> None:
    """Whether they are looked for at once, or after some are refuted one after the other."""
    of = context(Lamps, *names)
    random = Random(4)
    few, more = some_patterns(of, 4, random), some_patterns(of, 6, random)
    patterns = np.concatenate([few, more])
    at_once, one_by_one = InContext(of), InContext(of)
    at_once.absorb(patterns)
    at_once.find()
    assert sentences(at_once) == shortest(of, patterns)
    one_by_one.absorb(few)
    one_by_one.find()
    assert sentences(one_by_one) != sentences(at_once)
    assert one_by_one.absorb(more)
    assert sentences(one_by_one) == sentences(at_once)


def sentences(part: InContext) -> set[tuple[int, ...]]:
    return {tuple(np.flatnonzero(row).tolist()) for row in part.sentences}


def test_all_candidates_follow_from_the_basis() -> None:
    """A situation that is wrong in one place breaks a candidate only if it breaks one of the basis."""
    of = contexts(Buffers)[:3]
    candidates = [InContext(each) for each in of]
    seen = situations(BUFFER)
    for part in candidates:
        part.absorb(part.new(seen))
        part.find()
    basis = [each for part in candidates for each in part.clauses()]
    assert len(basis) < sum(len(part.sentences) for part in candidates) / 2
    random, broke = Random(5), 0
    for now in random.choices(seen, k=200):
        wrong = altered(now, random)
        breaks = any(True for _ in Broken(of, basis).by(wrong))
        assert breaks != all(part.allows(wrong) for part in candidates)
        broke += breaks
    assert 20 < broke < 180


def altered(now: TabulatedState, random: Random) -> TabulatedState:
    name = random.choice(sorted(now.values))
    values = now.values[name].copy()
    place = tuple(random.randrange(size) for size in values.shape)
    values[place] = not values[place] if values.dtype == bool else random.randrange(2)
    return replace(now, values={**now.values, name: values})


@pytest.mark.parametrize("protocol", PROOFS)
def test_simulated_runs_refute_nothing_that_is_proved(protocol: str) -> None:
    proof = PROOFS[protocol]
    for now in situations(proof, runs=4):
        run = concrete(proof.abstraction, now, About(0, 0, 0))
        for name, holds in proof.invariants.items():
            assert holds(run, run.before, run.logic), name


# -- what is found -----------------------------------------------------------------------------------------------------


def test_what_events_break_is_weakened_until_all_is_kept() -> None:
    """Of few sentences, by a few moments of one run: the start and the events decide."""
    of = contexts(Buffers)[:2]
    candidates = [InContext(each) for each in of]
    for part in candidates:
        part.absorb(part.new(situations(BUFFER, runs=1)[:8]))
        part.find()
    before = [sentences(part) for part in candidates]
    induction = Induction(BUFFER, of, 2_000_000)
    kept = Houdini(induction, candidates, lambda line: None).kept()
    assert before != [sentences(part) for part in candidates]
    assert {"for all x: got(x) ⇒ posted(x)", "for all x: acknowledged(x) ⇒ got(x)"} <= set(map(str, kept))
    for now in situations(BUFFER):
        assert all(part.allows(now) for part in candidates)
    for stage in range(len(induction.events)):
        assert all(induction.core(stage, each, kept) is not None for each in kept)
    (alone,) = [each for each in kept if str(each) == "for all x: acknowledged(x) ⇒ got(x)"]
    wrong = clause(alone.context, "¬posted(x)", "got(x)")
    assert any(induction.core(stage, wrong, kept) is None for stage in range(len(induction.events)))


@pytest.mark.slow
def test_the_buffer_protocol_is_shown_safe_by_what_is_found(found: DiscoveredOfStages) -> None:
    assert found.safe == "proved"
    assert found.confirmed
    assert found.given_up == 0
    assert "for all x, y: got(x) ∧ precedes(y, x) ⇒ got_at(y) < got_at(x)" in found.needed
    assert 8 <= len(found.needed) <= 20
    assert found.independent < found.inductive < found.candidates


@pytest.mark.slow
def test_what_is_found_is_reported(found: DiscoveredOfStages) -> None:
    lines = found.lines()
    assert lines[0].startswith("buffer: ")
    assert lines[0].endswith("that it is safe follows")
    assert [line[2:] for line in lines if line.startswith("- ")] == list(found.needed)
    facts = found.json()
    assert facts["safe"] == "proved"
    assert "optimal" not in facts
    assert facts["assumptions"] == list(BUFFER.assumed)


def mutant(event: str, given: str) -> QueueProof:
    """With an abstraction of which the event may happen without that."""

    def without(self: Abstraction) -> StageEvent:
        known: StageEvent = getattr(Buffers, event)(self)
        assert given in known.given
        return known._replace(given={name: holds for name, holds in known.given.items() if name != given})

    return replace(BUFFER, abstraction=type("Mutant", (Buffers,), {event: without}))


#: Of each event what it may happen without.
LEFT_OUT = {
    "posting": ["m is the oldest in i's output buffer", "i awaits no acknowledgement"],
    "getting": ["m is in flight to i"],
    "acknowledging": ["m's acknowledgement is in flight to i"],
    "delivering": ["m is the oldest in i's input buffer"],
}
OF_BUFFERS = [
    pytest.param(event, given, id=f"{event}, without: {given}") for event in LEFT_OUT for given in LEFT_OUT[event]
]


@pytest.mark.parametrize(("event", "given"), OF_BUFFERS)
def test_nothing_is_shown_of_an_abstraction_that_breaks(event: str, given: str) -> None:
    broken = discover_of_stages("mutant", mutant(event, given))
    assert broken.safe == "refuted"
    assert broken.needed == ()
    assert broken.lines()[0] == "mutant: a simulated run of its abstraction is not safe"


def test_what_one_abstraction_keeps_another_breaks() -> None:
    """Two sentences that keep each other, as long as nothing is posted before the last message is acknowledged."""
    of = [context(Buffers, "x")]
    some = [
        clause(of[0], "¬got(x)", "posted(x)"),
        clause(of[0], "¬posted(x)", "acknowledged(x)", "waits(sender(x))"),
        clause(of[0], "¬posted(x)", "acknowledged(x)", "x = awaits(sender(x))"),
    ]

    def kept_by(proof: QueueProof) -> dict[str, bool]:
        induction = Induction(proof, of, 2_000_000)
        stages = range(len(induction.events))
        return {induction.name(k): all(induction.core(k, each, some) is not None for each in some) for k in stages}

    assert all(kept_by(BUFFER).values())
    hasty = kept_by(mutant("posting", "i awaits no acknowledgement"))
    assert [name for name, keeps in hasty.items() if not keeps] == ["post"]


@pytest.mark.slow
@pytest.mark.parametrize(("event", "given"), OF_BUFFERS)
def test_nor_if_it_is_looked_into_anyway(event: str, given: str) -> None:
    """Its simulated runs being no argument, the sentences that are left do not make it safe."""
    broken = discover_of_stages("mutant", mutant(event, given), anyway=True)
    assert broken.safe != "proved"
    assert broken.needed == ()


def test_a_random_run_shows_whether_it_is_safe() -> None:
    broken = mutant("delivering", "m is the oldest in i's input buffer")
    random = Random(1)
    assert any(wrong for _ in range(20) for _, wrong in simulated(broken, 3, 4, random))
    for now, wrong in simulated(BUFFER, 3, 4, random):
        assert not wrong
        assert is_safe(BUFFER, concrete(Buffers, now, About(0, 0, 0)))


def test_protocols_are_known_by_name() -> None:
    assert all(PROTOCOLS[name] is proof.protocol for name, proof in PROOFS.items())
