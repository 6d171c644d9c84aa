"""The ledger: every claim of the five texts is there, and its evidence gives the verdict that is recorded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest

from crownless.command_line import main
from crownless.proofs.ledger.claims import VERDICTS, Entry, Evidence, Shown
from crownless.proofs.ledger.ledger import CLAIMS, TEXTS, entries_named, look_into
from crownless.spec import bibliography
from crownless.spec.errors import BadInput

#: So many claims each text makes.
CLAIMED = {"MF": 25, "SES": 18, "MG": 21, "KU": 9, "SA": 13}
#: What may wait for the cost experiments.
MAY_BE_OPEN = {"MF24", "MF25", "MG20", "SA13"}


def test_every_claim_is_there() -> None:
    assert list(CLAIMS) == [f"{text}{number}" for text, count in CLAIMED.items() for number in range(1, count + 1)]
    assert len(CLAIMS) == 86
    assert TEXTS.keys() == CLAIMED.keys()


@pytest.mark.parametrize("entry", CLAIMS.values(), ids=lambda entry: entry.id)
def test_a_claim_says_what_it_is(entry: Entry) -> None:
    assert entry.statement.endswith(".")
    key = entry.source.split("]")[0].lstrip("[")
    assert key in bibliography.BIBLIOGRAPHY
    assert entry.recorded in VERDICTS
    assert entry.recorded != "open" or entry.id in MAY_BE_OPEN


@pytest.mark.parametrize("entry", CLAIMS.values(), ids=lambda entry: entry.id)
def test_a_claim_has_the_verdict_that_is_recorded(entry: Entry) -> None:
    evidence = entry.look(True)
    assert evidence.verdict == entry.recorded
    assert evidence.scope
    assert evidence.because
    if evidence.verdict in ("refuted", "repaired"):
        assert evidence.shown, "there is a counterexample to look at"
    json.dumps([shown.json() for shown in evidence.shown])


def test_claims_are_named_one_by_one_or_by_text() -> None:
    assert [entry.id for entry in entries_named(["mf3", "KU", "KU1"])] == ["MF3", *(f"KU{k}" for k in range(1, 10))]
    assert [entry.id for entry in entries_named([])] == list(CLAIMS)
    with pytest.raises(BadInput, match="unknown claim 'MF26'; did you mean 'MF"):
        entries_named(["MF26"])


def test_a_verdict_that_is_not_the_recorded_one_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def look(quick: bool) -> Evidence:
        return Evidence("refuted", f"nothing at all, quick: {quick}", "it just is so", ())

    entry = CLAIMS["MF1"]
    monkeypatch.setitem(CLAIMS, "MF1", Entry(entry.id, entry.source, entry.statement, "checked", look))
    (finding,) = look_into(entries_named(["MF1"]))
    assert not finding.as_recorded
    with pytest.raises(SystemExit) as code:
        main(["claims", "MF1", "--quick"])
    assert code.value.code == 1
    assert capsys.readouterr().out.endswith("MF1: the ledger has checked, the evidence says refuted\n")


def test_the_table_counts_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as code:
        main(["claims", "MF1", "MF2", "MF6", "--quick"])
    assert code.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["claim", "MF1", "MF2", "MF6"]
    assert lines[-1] == "3 claims: 1 proved, 2 checked"


def test_every_fact_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["claims", "MF2", "--quick", "--json"])
    (facts,) = json.loads(capsys.readouterr().out)
    keys = ["id", "source", "statement", "reading", "verdict", "recorded", "scope", "evidence", "shown", "seconds"]
    assert list(facts) == keys
    assert [len(shown["computation"]) > 1 for shown in facts["shown"]] == [True] * 3


def all_shown() -> Iterator[Shown]:
    for entry in CLAIMS.values():
        if entry.recorded in ("refuted", "repaired"):
            yield from entry.look(True).shown


def test_counterexamples_are_told_apart() -> None:
    titles = Counter(shown.title for shown in all_shown())
    assert all(count <= 2 for count in titles.values())
