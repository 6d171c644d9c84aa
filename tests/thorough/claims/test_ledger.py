"""The ledger: every claim of the five papers is there, and its evidence gives the verdict that is recorded."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from command_line_runner import Capture, Crownless
from each_claim import each_claim

from crownless.drawing.text import draw
from crownless.model_check.runs.runs import Run
from crownless.research.claims import bundled
from crownless.research.claims.claim import VERDICTS, Entry, Kind, Reading, verdict_of
from crownless.research.claims.gathering import figure
from crownless.research.claims.ledger import CLAIMS, Finding, entries_named, recompute
from crownless.research.theorems.evidence import Evidence, Verdict, fact
from crownless.runtime.errors import BadInput
from crownless.spec import bibliography, library

#: The number of claims that each text makes.
CLAIMED = {"MF": 31, "SES": 28, "MG": 25, "KU": 9, "SA": 18}
MAY_BE_OPEN = {"MF25"}
#: Claims that hold, but not as one might read them or as they are proved; what shows that is bundled, too.
HOLD_AND_ARE_DRAWN = {"SES16", "SES19", "SES21", "SES22", "MF26", "SA6", "MG17", "MG24"}

#: What was recomputed in this session, quick.
_found: dict[str, Finding] = {}


def finding_of(name: str) -> Finding:
    if name not in _found:
        (_found[name],) = recompute([CLAIMS[name]], quick=True)
    return _found[name]


def test_every_claim_is_there() -> None:
    assert list(CLAIMS) == [f"{text}{number}" for text, count in CLAIMED.items() for number in range(1, count + 1)]
    assert tuple(CLAIMED) == tuple(bibliography.PAPERS)


# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("proved",), "proved"),
        (("proved", "refuted"), "proved"),
        (("refuted",), "refuted"),
        (("refuted", "refuted"), "refuted"),
        (("refuted", "checked"), "repaired"),
        (("refuted", "refuted", "proved"), "repaired"),
        (("refuted", "proved", "open"), "open"),
        (("open", "proved"), "open"),
    ],
)
def test_the_letter_decides_and_another_reading_repairs(verdicts: tuple[Verdict, ...], expected: Verdict) -> None:
    assert verdict_of([Reading(str(k), verdict) for k, verdict in enumerate(verdicts)]) == expected


@pytest.mark.parametrize(("beside", "expected"), [("proved", "refuted"), ("refuted", "refuted"), ("open", "open")])
def test_what_a_text_does_not_say_repairs_nothing(beside: Verdict, expected: Verdict) -> None:
    letter, not_said = Reading("by the letter", "refuted"), Reading("beside it", beside, said=False)
    assert verdict_of([letter, not_said]) == expected
    repaired = verdict_of([letter, not_said, Reading("repaired", "proved")])
    assert repaired == ("open" if expected == "open" else "repaired")


def test_evidence_shows_something_if_each_part_does_and_reaches_as_far_as_each() -> None:
    proved, checked = Evidence(True, "any n", "z3", (), "proved"), fact(True, "states", "any n; 3 processes")
    both = proved & checked
    assert (both.shows, both.scope, both.because, both.verdict) == (True, "any n; 3 processes", "z3; states", "proved")
    assert not (proved & fact(False, "")).shows
    assert (proved.refutes() & checked).verdict == "refuted"
    assert (proved.beside() & checked).verdict == "checked"


def test_a_reading_that_is_not_shown_is_open_and_so_is_its_claim() -> None:
    judged = (Reading("by the letter", "refuted"), Reading("with a premise", "checked"))
    entry = Entry("MG1", "", "", judged, lambda quick: [fact(True, "").refutes(), fact(False, "")])
    (finding,) = recompute([entry])
    assert finding.entry.recorded == "repaired"
    assert [reading.verdict for reading in finding.readings] == ["refuted", "open"]
    assert (finding.verdict, finding.as_recorded) == ("open", False)


def test_a_verdict_that_the_evidence_does_not_give_is_not_as_recorded() -> None:
    (finding,) = recompute([replace(CLAIMS["MF1"], recompute=lambda quick: fact(True, "up to a bound"))])
    assert (finding.verdict, finding.as_recorded) == ("checked", False)


# -- the claims --------------------------------------------------------------------------------------------------------


@each_claim
def test_a_claim_says_what_it_is(entry: Entry) -> None:
    assert entry.statement.endswith(".")
    assert entry.source.split("]")[0].lstrip("[") in bibliography.BIBLIOGRAPHY
    assert entry.recorded in VERDICTS
    assert entry.recorded != "open" or entry.id in MAY_BE_OPEN
    assert not lacks_erratum(entry)
    for erratum in entry.errata:
        assert erratum.kind in get_args(Kind)
        assert erratum.wrong
        assert erratum.instead


def lacks_erratum(entry: Entry) -> bool:
    """True if a reading that the text states is refuted, and no erratum says what is true instead."""
    return any(reading.said and reading.verdict == "refuted" for reading in entry.judged) and not entry.errata


def test_a_refuted_reading_without_an_erratum_is_noticed() -> None:
    assert lacks_erratum(replace(CLAIMS["KU8"], kind=None))
    assert not lacks_erratum(CLAIMS["MG11"])


@each_claim
def test_a_claim_has_the_verdict_that_is_recorded(entry: Entry) -> None:
    finding = finding_of(entry.id)
    assert (finding.judged, finding.unlike_bundled) == (entry.judged, [])
    assert finding.as_recorded
    assert finding.evidence.scope
    assert finding.evidence.because
    if finding.verdict in ("refuted", "repaired"):
        assert any(shown.bundled for shown in finding.of_readings[0].shown), "there is a counterexample to look at"
    json.dumps([shown.json() for shown in finding.evidence.shown])


def test_mf24_is_felt_from_a_load_between_two_and_four_hundredths_on() -> None:
    assert "felt from load 0.04 on, and not up to 0.02" in finding_of("MF24").evidence.because


def test_claims_are_named_one_by_one_or_by_text() -> None:
    assert [entry.id for entry in entries_named(["mf3", "KU", "KU1"])] == ["MF3", *(f"KU{k}" for k in range(1, 10))]
    assert [entry.id for entry in entries_named([])] == list(CLAIMS)
    with pytest.raises(BadInput, match="unknown claim 'MF39'; did you mean 'MF"):
        entries_named(["MF39"])


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("[MG] §4.1", ["MG5", "MG17"]),
        ("RULE Priority", ["MG7", "MG14", "MG20", "MG21"]),
        ("lower bound", ["SA17"]),
        ("rul priority", None),
        (" ", None),
    ],
)
def test_claims_are_found_by_whole_words_of_their_sentence_place_or_readings(
    words: str, found: list[str] | None, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    answer = Crownless(capsys)("list", "claims", words)
    assert answer.code == (2 if found is None else 0)
    if found is None:
        assert f"unknown claim '{words}'" in answer.err
    else:
        rows = answer.out.partition("\nsources:")[0].splitlines()[1:]
        assert [row.split()[0] for row in rows] == found
        assert all(CLAIMS[name].statement in row for name, row in zip(found, rows, strict=True))


#: Claims with a proof for every n, and the readings that it is about, by place.
PROVED_FOR_EVERY_N = {
    "MF21": [0, 1], "SES19": [0], "SES27": [1], "SA6": [0, 1], "SA14": [0], "SA15": [0],
}  # fmt: skip


@pytest.mark.parametrize("name", PROVED_FOR_EVERY_N)
def test_what_has_a_short_proof_is_proved_for_any_number(name: str) -> None:
    finding = finding_of(name)
    for place in PROVED_FOR_EVERY_N[name]:
        assert finding.judged[place].verdict == "proved"
        assert finding.of_readings[place].scope.startswith("any number of ")


def test_a_step_that_is_argued_in_words_is_named_in_the_scope() -> None:
    assert "the messages are at most as many as the sum is counted in words" in finding_of("SES27").evidence.scope
    assert "sorted is argued" in finding_of("MF21").evidence.scope
    assert "that the machine clears so is shown up to a bound" in finding_of("SA15").evidence.scope


def test_a_relation_that_is_too_narrow_is_judged_where_it_first_makes_a_difference() -> None:
    """Rule 5 of the policy: ↦ as printed is refuted in MG25, and repaired there."""
    finding = finding_of("MG25")
    assert finding.judged[0].text == "a crown of the computation of ℰ alone gives one by ↦ as printed"
    assert (finding.judged[0].verdict, finding.verdict) == ("refuted", "repaired")


@pytest.mark.parametrize(("name", "actions"), [("MF29", 8), ("MF30", 5), ("MF31", 4), ("SES28", 3), ("SA18", 2)])
def test_what_is_false_by_the_letter_is_refuted_by_a_smallest_run(name: str, actions: int) -> None:
    finding = finding_of(name)
    shown = finding.of_readings[0].shown[0]
    assert isinstance(shown.what, Run)
    assert (finding.verdict, len(shown.what.actions)) == ("repaired", actions)


def test_a_pair_that_indicates_nothing_is_carried_by_a_message_sent_when_all_before_it_was_delivered() -> None:
    run = bundled.run("counterexample-ses28")
    assert [(action.action, action.message) for action in run.actions] == [
        ("send", "m1"),
        ("deliver", "m1"),
        ("send", "m2"),
    ]


def test_the_page_of_errors_names_the_five_texts_and_does_not_say_that_it_is_complete() -> None:
    page = (Path(__file__).parents[3] / "docs/errors_in_the_papers.md").read_text("utf-8")
    said = next(line for line in page.splitlines() if "five papers" in line)
    assert set(re.findall(r"\[(\w+)\]", said)) == {entry.source.split("]")[0].lstrip("[") for entry in CLAIMS.values()}
    assert "what we found not to be true" in page
    assert "everything that is not true" not in page


def test_kupers_post_has_its_title() -> None:
    title = "An example run of a matrix-based causal unicast protocol. Blog post, 2022."
    assert bibliography.BIBLIOGRAPHY["Kup"] == f"L. Kuper. {title}"


SLIPS = {
    "SES4": ["BUFF_S'"],
    "SES16": ["VT(M')[i] = VT[i]"],
    "MG1": ["ℰ is their union"],
    "MG14": ["{0, 1, 2, …, k − 1}"],
    "MG15": ["taken modulo k"],
    "KU1": ["deliver m_3 until", "to m_3", "P_3 delivers m_1", "P_3 delivers m_3"],
    "KU7": ["SENT_m[j, i]"],
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_of_print_are_listed_with_what_is_meant(name: str) -> None:
    slips = [erratum.instead for erratum in CLAIMS[name].errata if erratum.kind == "typo"]
    assert len(slips) == len(SLIPS[name])
    assert all(part in slip for slip, part in zip(slips, SLIPS[name], strict=True))


def test_a_message_that_a_title_calls_lost_is_lost_in_the_run() -> None:
    count = 0
    for name in ("SES17", "SES18", "SES26"):
        for shown in finding_of(name).evidence.shown:
            title = re.match(r"(m\d(?: and m\d)*) (?:is|are) lost", shown.title)
            if title and isinstance(shown.what, Run):
                count += 1
                lost = {action.message for action in shown.what.actions if action.action == "lose"}
                assert set(title[1].split(" and ")) <= lost, shown.title
    assert count == 2


# -- the command -------------------------------------------------------------------------------------------------------


def test_a_verdict_that_is_not_the_recorded_one_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(CLAIMS, "MF1", replace(CLAIMS["MF1"], recompute=lambda quick: fact(False, "it just is so")))
    answer = Crownless(capsys)("claims", "MF1", "--quick")
    assert answer.code == 1
    assert answer.out.endswith("MF1: the ledger has proved, the evidence says open\n")


def test_the_table_counts_verdicts(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    answer = Crownless(capsys)("claims", "MF1", "MF3", "MF6", "--quick")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["claim", "MF1", "MF3", "MF6"]
    assert lines[-1] == "3 claims: 2 proved, 1 checked"


def test_a_claim_says_first_its_sentence_then_its_verdict_then_what_is_true_instead(capsys: Capture) -> None:
    lines = Crownless(capsys)("claims", "KU8", "--quick").out.splitlines()
    entry = CLAIMS["KU8"]
    (erratum,) = entry.errata
    assert lines[0] == f"KU8: {entry.statement}"
    assert [line.strip().partition(":")[0] for line in lines[1:6]] == [
        "verdict", "true instead", "ambiguity", "for the paper", "evidence",
    ]  # fmt: skip
    assert lines[2] == f"  true instead: {erratum.instead}"
    assert "  source: [Kup] Bob's fateful message to Carol; [Kup] L. Kuper." in "\n".join(lines)


@each_claim
def test_each_paper_that_a_claim_names_is_expanded(entry: Entry) -> None:
    finding = finding_of(entry.id)
    text = " ".join([entry.statement, *(text for _, text in finding.facts)])
    for key in set(re.findall(r"\[([A-Z]\w* ?\d+|MF|SES|MG|Kup|SA)\]", text)):
        assert f"[{key}] {bibliography.BIBLIOGRAPHY[key]}" in dict(finding.facts)["source"]


def test_claims_errors_and_sources_are_listed_without_recomputing_anything(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recomputed(quick: bool) -> Evidence:
        raise AssertionError

    monkeypatch.setitem(CLAIMS, "MF1", replace(CLAIMS["MF1"], recompute=recomputed))
    facts = json.loads(Crownless(capsys)("list", "claims", "errors", "sources", "--json").out)
    assert [known["id"] for known in facts["claims"]] == list(CLAIMS)
    assert [set(known) for known in facts["claims"][:1]] == [{"id", "source", "recorded", "statement"}]
    assert {known["claim"] for known in facts["errors"]} == {entry.id for entry in CLAIMS.values() if entry.errata}
    assert len(facts["sources"]) == len(bibliography.BIBLIOGRAPHY)
    out = Crownless(capsys)("list", "claims").out
    assert all(f"\n  [{key}] " in out for key in ("Kup", "MF", "MG", "SA", "SES"))
    assert "claims" not in json.loads(Crownless(capsys)("list", "--json").out)


def test_the_help_names_the_five_texts(capsys: Capture) -> None:
    out = Crownless(capsys)("claims", "--help").out
    assert all(f"{prefix:4} {text}\n" in out for prefix, text in bibliography.PAPERS.items())


def test_every_fact_is_printed_and_in_the_json(capsys: Capture) -> None:
    out = Crownless(capsys)("claims", "MG11", "--quick").out
    assert "  read as: ↦ as printed: proved\n" in out
    assert "  not said: of one message, as s1 ↦ r1: refuted\n" in out
    (facts,) = json.loads(Crownless(capsys)("claims", "MG11", "--quick", "--json").out)["claims"]
    judged = ["id", "source", "statement", "reading", "readings", "verdict", "recorded", "errata"]
    assert list(facts) == [*judged, "scope", "evidence", "shown", "seconds"]
    assert [reading["verdict"] for reading in facts["readings"]] == ["proved", "proved", "refuted"]
    assert [reading["said"] for reading in facts["readings"]] == [True, True, False]


# -- counterexamples are bundled ---------------------------------------------------------------------------------------


def all_shown() -> Iterator[tuple[str, str, str | None]]:
    for entry in CLAIMS.values():
        if entry.recorded in ("refuted", "repaired") or entry.id in HOLD_AND_ARE_DRAWN:
            yield from ((entry.id, shown.title, shown.bundled) for shown in finding_of(entry.id).evidence.shown)


def test_every_bundled_counterexample_is_shown_by_one_claim_and_listed_with_its_title() -> None:
    shown = [(name, claim, title) for claim, title, name in all_shown() if name]
    assert {name for name, *_ in shown} == {*library.counterexamples(), *library.counterexamples(".json")}
    assert sorted(shown) == sorted((known["name"], known["claim"], known["text"]) for known in bundled.facts())
    assert max(Counter(title for _, title, _ in all_shown()).values()) == 1


@pytest.mark.parametrize("name", library.counterexamples(".json"))
def test_a_bundled_run_can_be_drawn_and_printed(name: str) -> None:
    run = bundled.run(name)
    assert run.draw().count("\n") >= len(run.actions)
    assert len(run.say().splitlines()) == len(run.actions)
    assert max(map(len, library.path(name, ".json").read_text("utf-8").splitlines())) < 400


def test_a_bundled_agreement_is_drawn_as_received() -> None:
    drawn = bundled.run("counterexample-ses25").draw()
    assert "─agreed▶" in drawn
    assert "agreed is in flight" not in drawn


@pytest.mark.parametrize("name", library.counterexamples())
def test_a_bundled_computation_can_be_drawn_and_says_what_it_is_about(name: str) -> None:
    assert draw(figure(name))
    first, *_ = library.path(name).read_text("utf-8").splitlines()
    claim = name.split("-")[1].upper()
    assert first.startswith(f"# To {claim}, {CLAIMS[claim].source}: ")


LEFT_TO_THE_FULL_RUN = "the bundled counterexample is verified; that none is smaller is left to the full run"
ONLY_WHEN = "P4 may acknowledge m1 only when the chain m2, m3, m4 is acknowledged:\n"


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        ("claims MG14 --quick", 0, ["  drawn by: crownless show counterexample-mg14\n", LEFT_TO_THE_FULL_RUN]),
        ("show counterexample-mg14", 0, ["c1 acknowledges m3:\n", "─c1", "see: crownless claims MG14\n"]),
        ("classify counterexample-mg13", 1, ["note: control messages (c1) count as messages here\n"]),
        ("classify counterexample-mg14-application", 1, ["crown of size 3"]),
        ("show counterexample-mg20", 0, [ONLY_WHEN]),
        ("classify counterexample-mg20", 2, ["is a run of a protocol"]),
        ("list", 0, ["counterexample-sa6"]),
    ],
)
def test_bundled_counterexamples_are_shown_and_classified_by_name(
    arguments: str, code: int, parts: list[str], capsys: Capture
) -> None:
    answer = Crownless(capsys)(*arguments.split())
    assert answer.code == code
    assert all(part in answer.out + answer.err for part in parts)


def test_a_bundled_file_that_is_not_what_was_found_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    shutil.copytree(library.COUNTEREXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(library, "COUNTEREXAMPLES", tmp_path)
    changed = tmp_path / "counterexample-sa3.json"
    changed.write_text(changed.read_text("utf-8").replace("m1", "m2"), "utf-8")
    answer = Crownless(capsys)("claims", "SA3", "--quick")
    assert answer.code == 1
    assert answer.out.endswith("SA3: counterexample-sa3, as it is bundled, differs from what was found\n")
    changed.unlink()
    finding = finding_of("SA3")
    assert finding.unlike_bundled == ["counterexample-sa3"]
    assert bundled.write(finding.entry, finding.evidence) == ["counterexample-sa3"]
    assert not finding.unlike_bundled
