"""The vector-pair protocol taken apart: as published it is the bundled one, and single changes are right or wrong."""

from __future__ import annotations

import pytest
from replay import check, violations

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.proofs.induction.proved_properties import SHOWN
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.proving import proof_of, prove
from crownless.research.knobs.combinations import Combination, combinations, knobs_of, size
from crownless.research.knobs.knobs_of_ses import SesByKnobs

BY_NAME = {each.name: each for each in combinations(SesByKnobs)}

DELETES = "deleted: the sender's pair, if VT ≤ VT(M)"
INSERTS_ONE_ENTRY = "inserted: the sender's entry of VT(M), alone"
ATTACHES_ONE_ENTRY = "time attached: the sender's entry of VT(M)"
REPLACES = "merged: a carried pair replaces the local one"
NEVER_EQUAL = "test: VT ≤ VT(S), and not equal"


@pytest.mark.parametrize(("name", "bundled"), [("as published", Ses), (DELETES, SesDelete)])
def test_it_has_the_states_and_the_verdicts_of_the_bundled_protocol(name: str, bundled: type[ProtocolMachine]) -> None:
    one, other = check(BY_NAME[name].protocol, 3, 3), check(bundled, 3, 3)
    assert one.verdict == other.verdict == "holds"
    assert one.exploration.states == other.exploration.states


def test_there_are_as_many_combinations_as_documented() -> None:
    assert size(knobs_of(SesByKnobs)) == 4_608


WRONG = [
    ("inserted: the time before the send", "causal", (2, 2), 3),
    ("attached: the buffer after the insertion", "delivers-all", (2, 2), 1),
    ("attached: the receiver's pair alone", "causal", (3, 3), 5),
    (ATTACHES_ONE_ENTRY, "delivers-all", (3, 3), 5),
    ("test: the sender's entry alone", "causal", (3, 3), 5),
    (REPLACES, "causal", (3, 4), 7),
    ("deleted: the sender's pair", "causal", (2, 3), 5),
    ("clock: deliveries tick", "causal", (2, 2), 3),
    ("clock: both tick, the other entries overwritten", "delivers-all", (3, 3), 5),
    # A pair can equal the time of its site only where deliveries do not advance the clock.
    (f"{NEVER_EQUAL}, clock: sends tick", "delivers-all", (2, 2), 3),
]


@pytest.mark.parametrize(("name", "property_", "bound", "actions"), WRONG)
def test_a_wrong_change_has_a_shortest_run(name: str, property_: str, bound: tuple[int, int], actions: int) -> None:
    assert violations(check(BY_NAME[name].protocol, *bound))[property_] == actions


RIGHT = [
    "inserted: the sender's entry of VT(M), into the older pair",
    INSERTS_ONE_ENTRY,
    f"{INSERTS_ONE_ENTRY}, {ATTACHES_ONE_ENTRY}",
    "test: VT ≤ VT(S), but for the own entry",
    NEVER_EQUAL,
    "merged: supremum, also of the own pair",
    DELETES,
    "deleted: of the sender's pair, the entries ≤ VT(M)",
    "clock: sends tick",
    f"inserted: the sender's entry of VT(M), into the older pair, {ATTACHES_ONE_ENTRY}, {NEVER_EQUAL}, {DELETES}",
]


def shown(of: Combination, effort: int = EFFORT) -> set[str]:
    """The outcomes of the proof of a combination."""
    report = prove(of.name, proof_of(of.protocol), effort, attempts=1)
    return {report.outcome(part) for part in SHOWN}


@pytest.mark.parametrize("name", ["as published", *RIGHT])
def test_a_right_change_is_proved_for_every_n(name: str) -> None:
    assert shown(BY_NAME[name]) == {"proved"}


@pytest.mark.parametrize("name", [REPLACES, "attached: the receiver's pair alone", f"{NEVER_EQUAL}, clock: sends tick"])
def test_a_wrong_change_is_not_proved(name: str) -> None:
    assert "proved" not in shown(BY_NAME[name], effort=EFFORT // 10)
