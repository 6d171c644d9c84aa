"""Invariants are found by machine; nothing is shown of a protocol that breaks."""

from __future__ import annotations

from random import Random

import pytest
from broken_rst import (
    DeliversWhatArrives,
)
from broken_ses import SendsNoPairs
from discovery_of_faults import nothing_follows

from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import PROTOCOLS
from crownless.proofs.induction.any_run import AnyRun
from crownless.research.discovery.candidates import Candidates
from crownless.research.discovery.discovery import Discovered, discover
from crownless.research.discovery.houdini import always
from crownless.research.discovery.numeric_states import NumericState, simulated
from crownless.research.discovery.rendering import ClauseRenderer
from crownless.research.discovery.templates import (
    Bound,
    Clause,
    Leaf,
    Literal,
    Number,
    NumericStates,
    OnNumericStates,
    Process,
    Vocabulary,
    contexts,
)
from crownless.runtime.errors import BadInput


def vocabulary(protocol: str) -> Vocabulary:
    return Vocabulary.of(AnyRun(PROTOCOLS[protocol]))


def simulations(protocol: str, runs: int = 12) -> list[NumericState]:
    random = Random(7)
    return [each for _ in range(runs) for each in simulated(PROTOCOLS[protocol], 3, 6, random)]


# -- the grammar -------------------------------------------------------------------------------------------------------


def test_the_words_come_from_the_shape_of_the_protocols_state() -> None:
    assert vocabulary("rst") == Vocabulary((Leaf("SENT", (0,), 2), Leaf("DELIV", (1,), 1)), (Leaf("stamp", (), 2),))
    assert vocabulary("rst-before") == Vocabulary((Leaf("state", (), 2),), (Leaf("stamp", (), 2),))
    assert vocabulary("ses") == Vocabulary(
        (Leaf("TIME", (0,), 1), Leaf("BUFFER", (1,), 2)), (Leaf("TIME", (0,), 1), Leaf("BUFFER", (1,), 2))
    )


def test_a_simulated_run_refutes_what_is_false_and_nothing_that_is_proved() -> None:
    """`kuper` proves that SENT counts what is known. That DELIV does is true of messages to its process alone."""
    words = vocabulary("rst")
    candidates = Candidates(words)
    made = len(candidates)
    candidates.absorb(simulations("rst"))
    assert len(candidates) < made / 3
    x, p = "x", Process("p")
    sender, receiver = Process(x, "sender"), Process(x, "receiver")
    known = (Literal("sent", (x,)), Literal("knows", (p, x)))
    number = Number("number", x)
    assert Bound(number, Number("local", p, (sender, receiver)), 0) in bounds(candidates, known)
    assert number not in {
        bound.less for bound in bounds(candidates, known) if bound.more == Number("local", p, (sender,), 1)
    }


def bounds(candidates: Candidates, given: tuple[Literal, ...]) -> list[Bound]:
    """What may still be said of one message where this is given."""
    part = candidates.parts[1]
    numbers = part.context.numbers
    (some,) = [each for each in part.bounds if each.given == given]
    return [
        Bound(numbers[less], numbers[more], int(by))
        for less, more, by in zip(some.less, some.more, some.by, strict=True)
    ]


def test_all_candidates_follow_from_the_basis() -> None:
    """A situation that is wrong in one place breaks a candidate only if it breaks one of the basis."""
    words = vocabulary("rst")
    candidates = Candidates(words)
    situations = simulations("rst")
    candidates.absorb(situations)
    candidates.settle(always(AnyRun(Rst)))
    basis = candidates.basis()
    random = Random(3)
    broke = 0
    for situation in random.choices(situations, k=150):
        wrong = altered(situation, random)
        on_one = NumericStates(words, [wrong])
        if any(
            OnNumericStates(on_one, context).broken(clause).any() for context, clauses in basis for clause in clauses
        ):
            broke += 1
        else:
            assert not candidates.absorb([wrong])
    assert 20 < broke < 150


def altered(situation: NumericState, random: Random) -> NumericState:
    """One message more is known, delivered or sent, or one less, or has another number."""
    values = dict(vars(situation))
    what = random.choice(["knows", "delivered", "sent", "number", "precedes"])
    values[what] = _altered(values[what], random)
    return NumericState(**values)


def _altered(value: object, random: Random) -> object:
    if isinstance(value, tuple):
        place = random.randrange(len(value))
        return (*value[:place], _altered(value[place], random), *value[place + 1 :])
    if isinstance(value, bool):
        return not value
    assert isinstance(value, int)
    return value + random.choice([-1, 1])


def test_two_clauses_are_read_as_one_where_they_belong_together() -> None:
    words = vocabulary("rst")
    of_processes, of_a_message, _ = contexts(words)
    x, p, k = "x", Process("p"), Process("k")
    number, entry = Number("number", x), Number("local", p, (Process(x, "sender"), Process(x, "receiver")))
    sent, knows = Literal("sent", (x,)), Literal("knows", (p, x))
    reading = ClauseRenderer(words)
    assert reading.sentences(
        of_a_message,
        [Clause((sent, knows), Bound(number, entry, 0)), Clause((sent, knows.negated), Bound(entry, number, -1))],
    ) == ["for all p, x: sent(x) ⇒ (knows(p, x) ⇔ number(x) ≤ SENT_p[sender(x)][receiver(x)])"]
    deliv, column = Number("local", p, (k,), 1), Number("local", p, (k, p))
    assert reading.sentences(
        of_processes, [Clause((), Bound(deliv, column, 0)), Clause((), Bound(column, deliv, 0))]
    ) == ["for all p, k: DELIV_p[k] = SENT_p[k][p]"]


# -- what is found -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found() -> Discovered:
    """What is found of `rst`: once for all tests."""
    return discover("rst")


def test_why_the_matrix_protocol_works_is_found_for_every_n(found: Discovered) -> None:
    assert (found.safe, found.waits_only_for_causes, found.live) == ("proved", "proved", "proved")
    assert found.confirmed
    assert found.given_up == 0
    assert found.candidates > 40_000
    assert len(found.needed) < 20
    assert found.independent < 120 < found.inductive < found.survived < found.candidates
    assert found.summary.endswith("these follow: safe, waits only for causes and live")
    assert {f"- {line}" for line in (*found.needed, *found.needed_for_waiting)} < set(found.lines())
    assert found.json()["processes"] == "any number"


def test_what_is_found_are_the_counts_of_kuper(found: Discovered) -> None:
    statements = [*found.needed, *found.needed_for_waiting]
    assert any("number(x) ≤ SENT_p[sender(x)][receiver(x)]" in line for line in statements)
    assert any("number(x) ≤ stamp_m[sender(x)][receiver(x)]" in line for line in statements)
    assert any("DELIV_p[k]" in line and "SENT_p[k][p]" in line for line in statements)


def test_a_protocol_that_breaks_in_a_simulated_run_is_refuted() -> None:
    refuted = discover(DeliversWhatArrives)
    assert refuted.safe == "refuted"
    assert refuted.needed == ()
    assert refuted.summary == "DeliversWhatArrives: a simulated run violates causal order"


@pytest.mark.slow
def test_safety_does_not_follow_for_a_protocol_that_breaks() -> None:
    assert nothing_follows(SendsNoPairs)


@pytest.mark.parametrize("protocol", ["isis", "optimal", "extra-messages"])
def test_what_cannot_be_put_to_z3_is_bad_input(protocol: str) -> None:
    with pytest.raises(BadInput, match=f"{protocol}: z3 cannot execute its steps"):
        discover(protocol)
