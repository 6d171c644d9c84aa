"""The ledger: every claim of the five texts is there, and its evidence gives the verdict that is recorded."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from crownless.command_line import main
from crownless.impl.murty_garg import MurtyGarg, State
from crownless.impl.protocol import Step
from crownless.proofs.claims import bundled, sa, smallest_delay
from crownless.proofs.claims import smallest_synchronous as search
from crownless.proofs.claims.bounded import Bounded, BoundedSearchGaveUp, computation_of
from crownless.proofs.claims.claim import HOLDS, VERDICTS, Entry, Evidence, Shown
from crownless.proofs.claims.evidence import BY_FAIRNESS_IN_WORDS
from crownless.proofs.claims.ledger import CLAIMS, TEXTS, entries_named, recompute
from crownless.proofs.claims.smallest_clearing import Clearings
from crownless.proofs.claims.splits import Split, answers_only, split_by_names
from crownless.proofs.proving import ProofReport
from crownless.proofs.theorem import without_each
from crownless.spec import bibliography, library
from crownless.spec.diagrams.text import draw
from crownless.spec.enumeration import computations
from crownless.spec.errors import BadInput
from crownless.spec.orders import decide

#: So many claims each text makes.
CLAIMED = {"MF": 25, "SES": 18, "MG": 21, "KU": 9, "SA": 13}
#: What may wait for the cost experiments.
MAY_BE_OPEN = {"MF25"}
#: Claims that hold, but not as one might read them or as they are proved; what shows that is bundled, too.
HOLD_AND_ARE_DRAWN = {"SES16", "SA6", "MG10", "MG17"}


def test_every_claim_is_there() -> None:
    assert list(CLAIMS) == [f"{text}{number}" for text, count in CLAIMED.items() for number in range(1, count + 1)]
    assert len(CLAIMS) == 86
    assert tuple(CLAIMED) == TEXTS


@pytest.mark.parametrize("entry", CLAIMS.values(), ids=lambda entry: entry.id)
def test_a_claim_says_what_it_is(entry: Entry) -> None:
    assert entry.statement.endswith(".")
    key = entry.source.split("]")[0].lstrip("[")
    assert key in bibliography.BIBLIOGRAPHY
    assert entry.recorded in VERDICTS
    assert entry.recorded != "open" or entry.id in MAY_BE_OPEN


@pytest.mark.parametrize("entry", CLAIMS.values(), ids=lambda entry: entry.id)
def test_a_claim_has_the_verdict_that_is_recorded(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = parts_used(monkeypatch)
    (finding,) = recompute([entry], quick=True)
    evidence = finding.evidence
    assert finding.verdict == entry.recorded
    assert "live" not in parts or BY_FAIRNESS_IN_WORDS in evidence.scope, "what is live for every n is so in words"
    assert evidence.scope
    assert evidence.because
    if finding.verdict in ("refuted", "repaired"):
        assert evidence.shown, "there is a counterexample to look at"
        assert all(shown.bundled for shown in evidence.shown)
    assert finding.unlike_bundled == []
    assert finding.as_recorded
    json.dumps([shown.json() for shown in evidence.shown])


def parts_used(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The parts of proofs (safe, optimal, live) that evidence rests on from now on."""
    parts: set[str] = set()
    original = ProofReport.outcome

    def outcome(proved: ProofReport, part: str) -> str:
        parts.add(part)
        return original(proved, part)

    monkeypatch.setattr(ProofReport, "outcome", outcome)
    return parts


@pytest.mark.slow
@pytest.mark.parametrize("entry", CLAIMS.values(), ids=lambda entry: entry.id)
def test_a_claim_has_the_verdict_that_is_recorded_in_the_full_run_too(entry: Entry) -> None:
    """And the full run, which looks for smaller counterexamples, finds those that are bundled."""
    (finding,) = recompute([entry])
    assert (finding.verdict, finding.unlike_bundled) == (entry.recorded, [])
    assert finding.as_recorded


def test_claims_are_named_one_by_one_or_by_text() -> None:
    assert [entry.id for entry in entries_named(["mf3", "KU", "KU1"])] == ["MF3", *(f"KU{k}" for k in range(1, 10))]
    assert [entry.id for entry in entries_named([])] == list(CLAIMS)
    with pytest.raises(BadInput, match="unknown claim 'MF26'; did you mean 'MF"):
        entries_named(["MF26"])


def test_a_verdict_that_is_not_the_recorded_one_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def evidence_now(quick: bool) -> Evidence:
        return Evidence(False, f"nothing at all, quick: {quick}", "it just is so", ())

    entry = CLAIMS["MF1"]
    monkeypatch.setitem(CLAIMS, "MF1", replace(entry, recompute=evidence_now))
    (finding,) = recompute(entries_named(["MF1"]))
    assert not finding.as_recorded
    with pytest.raises(SystemExit) as code:
        main(["claims", "MF1", "--quick"])
    assert code.value.code == 1
    assert capsys.readouterr().out.endswith("MF1: the ledger has proved, the evidence says open\n")


def test_the_table_counts_verdicts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit) as code:
        main(["claims", "MF1", "MF3", "MF6", "--quick"])
    assert code.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["claim", "MF1", "MF3", "MF6"]
    assert lines[-1] == "3 claims: 2 proved, 1 checked"


def test_every_fact_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["claims", "MF2", "--quick", "--json"])
    (facts,) = json.loads(capsys.readouterr().out)["claims"]
    judged = ["id", "source", "statement", "reading", "readings", "verdict", "recorded"]
    assert list(facts) == [*judged, "scope", "evidence", "shown", "seconds"]
    assert [len(shown["computation"]) > 1 for shown in facts["shown"]] == [True] * 3


def all_shown() -> Iterator[Shown]:
    for entry in CLAIMS.values():
        if entry.recorded in ("refuted", "repaired") or entry.id in HOLD_AND_ARE_DRAWN:
            yield from entry.recompute(True).shown


def test_counterexamples_are_distinguished() -> None:
    titles = Counter(shown.title for shown in all_shown())
    assert all(count <= 2 for count in titles.values())


# -- counterexamples are bundled ---------------------------------------------------------------------------------------


def test_every_bundled_counterexample_is_shown_by_one_claim() -> None:
    names = Counter(shown.bundled for shown in all_shown() if shown.bundled)
    assert set(names) == {*library.counterexamples(), *library.counterexamples(".json")}
    assert set(names.values()) == {1}


@pytest.mark.parametrize("name", library.counterexamples(".json"))
def test_a_bundled_run_can_be_drawn_and_printed(name: str) -> None:
    run = bundled.run(name)
    assert run.draw().count("\n") >= len(run.actions)
    assert len(run.say().splitlines()) == len(run.actions)
    assert max(map(len, library.path(name, ".json").read_text("utf-8").splitlines())) < 400


@pytest.mark.parametrize("name", library.counterexamples())
def test_a_bundled_computation_can_be_drawn_and_says_what_it_is_about(name: str) -> None:
    assert draw(bundled.computation(name))
    first, *_ = library.path(name).read_text("utf-8").splitlines()
    claim = name.split("-")[1].upper()
    assert first.startswith(f"# To {claim}, {CLAIMS[claim].source}: ")


def test_what_is_bundled_is_listed_with_its_claim_and_its_title() -> None:
    listed = {(known["name"], known["text"]) for known in bundled.facts()}
    assert listed == {(shown.bundled, shown.title) for shown in all_shown() if shown.bundled}
    assert all(known["name"].split("-")[1].upper() == known["claim"] for known in bundled.facts())


def test_the_page_of_proofs_lists_claims_that_hold_and_says_so() -> None:
    page = (Path(__file__).parent.parent / "proofs" / "README.md").read_text("utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    listed = {name: row for name, row in rows.items() if name in CLAIMS}
    assert listed.keys() == {"SES16", "MG5", "MG10", "MG15", "MG16", "MG17", "KU9"}
    assert all(CLAIMS[name].recorded in HOLDS and " holds" in row.split(" | ")[1] for name, row in listed.items())


def test_a_claim_says_how_its_counterexample_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["claims", "MG14", "--quick"])
    out = capsys.readouterr().out
    assert "  drawn by: crownless show counterexample-mg14\n" in out
    assert "the bundled counterexample is verified; that none is smaller is left to the full run" in out


def test_bundled_counterexamples_are_shown_and_classified_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert_exits(["show", "counterexample-mg14"], 0)
    out = capsys.readouterr().out
    assert out.startswith("SC, RC and PR hold, c1 acknowledges m3:\n")
    assert "─c1" in out
    assert out.endswith("see: crownless claims MG14\n")
    assert_exits(["classify", "counterexample-mg13"], 1)
    assert "note: control messages (c1) count as messages here\n" in capsys.readouterr().out
    assert_exits(["classify", "counterexample-mg14-application"], 1)
    assert "crown of size 3" in capsys.readouterr().out
    assert_exits(["show", "counterexample-mg20"], 0)
    title = "P4 may acknowledge m1 only when the chain m2, m3, m4 is acknowledged:\n"
    assert capsys.readouterr().out.startswith(title)
    assert_exits(["classify", "counterexample-mg20"], 2)
    assert "is a run of a protocol" in capsys.readouterr().err
    assert_exits(["list"], 0)
    assert "counterexample-sa6" in capsys.readouterr().out


def assert_exits(arguments: list[str], code: int) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == code


def test_a_bundled_file_that_is_not_what_was_found_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(library.COUNTEREXAMPLES, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(library, "COUNTEREXAMPLES", tmp_path)
    (entry,) = entries_named(["SA3"])
    changed = tmp_path / "counterexample-sa3.json"
    changed.write_text(changed.read_text("utf-8").replace("m1", "m2"), "utf-8")
    with pytest.raises(SystemExit) as code:
        main(["claims", "SA3", "--quick"])
    assert code.value.code == 1
    line = "SA3: counterexample-sa3, as it is bundled, is not what was found\n"
    assert capsys.readouterr().out.endswith(line)
    changed.unlink()
    (finding,) = recompute([entry], quick=True)
    assert finding.unlike_bundled == ["counterexample-sa3"]
    assert bundled.write(entry, finding.evidence) == ["counterexample-sa3"]
    assert not finding.unlike_bundled


# -- they are the smallest ---------------------------------------------------------------------------------------------


Key = tuple[Any, Any, tuple[int, ...]]


def key(split: Split) -> Key:
    messages = [(message.sender, message.receivers) for message in split.whole.messages]
    return split.whole.lines, tuple(messages), split.own


def by_formula(some: Bounded) -> set[Key]:
    return {key(split_by_names(computation_of(word, some.n))) for word in some.words()}


def by_enumeration(n: int, m: int, holds: Callable[[Split], bool]) -> set[Key]:
    every = (Split(c, own) for c in computations(n, m) for size in range(m + 1) for own in combinations(range(m), size))
    return {key(split) for split in every if holds(split)}


@pytest.mark.parametrize(("n", "m"), [(3, 2), (2, 3)])
@pytest.mark.parametrize(
    ("narrow", "holds"),
    [
        pytest.param(lambda some: None, lambda split: True, id="all"),
        pytest.param(search.Conditions.require_send_condition, Split.send_condition, id="SC"),
        pytest.param(search.Conditions.require_receive_condition, Split.receive_condition, id="RC"),
        pytest.param(search.Conditions.require_strong_receive_condition, Split.strong_receive_condition, id="RC+"),
        pytest.param(search.Conditions.require_priority_rule, Split.ranked, id="PR"),
        pytest.param(search.Conditions.require_acknowledgements, answers_only, id="acknowledgements"),
        pytest.param(
            lambda some: some.add(some.closed_walk("crown", some.maps_to_as_printed(), 2)),
            lambda split: 2 in split.crown_sizes(split.maps_to_as_printed),
            id="crown",
        ),
        pytest.param(
            lambda some: some.add(some.closed_walk("crown", some.send_then_receive, 2)),
            lambda split: 2 in split.crown_sizes(split.precedes),
            id="strong crown",
        ),
    ],
)
def test_the_formula_has_each_computation_once_and_each_condition_as_it_is_defined(
    n: int, m: int, narrow: Callable[[search.Conditions], None], holds: Callable[[Split], bool]
) -> None:
    some = search.Conditions(n, m)
    narrow(some)
    found = list(some.words())
    expected = by_enumeration(n, m, holds)
    assert 0 < len(found) == len(expected)
    assert {key(split_by_names(computation_of(word, n))) for word in found} == expected


def test_the_formula_has_the_crowns_of_the_application() -> None:
    expected = by_enumeration(3, 3, lambda split: split.ranked() and not decide(split.application, "synchronous").kept)
    assert by_formula(search.any_with_crown(3, 3)) == expected != set()


def test_the_least_of_all_words_is_found() -> None:
    some = search.any_with_crown(3, 2, ranked=False)
    words = list(search.any_with_crown(3, 2, ranked=False).words())
    assert len(words) > 2
    assert some.least() == min(words)


def test_smaller_sizes_cover_all_that_is_smaller() -> None:
    assert search.sizes_below(search.Size(3, 3)) == [(1, 2), (2, 4), (3, 2)]
    one_idle = {key(split_by_names(computation_of(word, 4))) for word in Bounded(4, 1).words()}
    assert len(one_idle) == 2 * 12


# -- each of them bites: with the premise restored, it is none --------------------------------------------------------


def test_with_the_stronger_receive_condition_lemma_4_and_theorem_6_have_no_exception() -> None:
    for name in ("counterexample-mg13", "counterexample-mg14"):
        split = split_by_names(bundled.computation(name))
        assert split.send_condition()
        assert split.receive_condition()
        assert not split.strong_receive_condition()
    lemma_4 = search.breaks_lemma_4(4, 5, 3, ranked=True)
    assert lemma_4.exists()
    lemma_4.require_strong_receive_condition()
    assert not lemma_4.exists()


@pytest.mark.slow
def test_with_the_stronger_receive_condition_theorem_6_has_no_exception_of_that_size() -> None:
    assert not search.breaks_theorem_6(4, 5, strong=True).exists()


@pytest.mark.slow
def test_three_processes_and_six_messages_do_not_break_theorem_6() -> None:
    assert not search.breaks_theorem_6(3, 6).exists()


def test_each_premise_of_theorem_6_is_needed() -> None:
    """Without one of them a smaller computation is an exception, and not with all of them."""
    without_sc = search.any_with_crown(3, 4)
    without_sc.require_receive_condition()
    without_rc = search.any_with_crown(3, 4)
    without_rc.require_send_condition()
    without_pr = search.breaks_theorem_6(3, 4, ranked=False)
    assert [some.exists() for some in (without_sc, without_rc, without_pr)] == [True] * 3
    assert not search.breaks_theorem_6(3, 4).exists()


def test_the_application_of_the_bundled_computation_has_a_crown_and_its_control_message_is_an_acknowledgement() -> None:
    split = split_by_names(bundled.computation("counterexample-mg14"))
    assert split.ranked()
    assert answers_only(split)
    assert not decide(split.application, "synchronous").kept
    assert split.application.lines == bundled.computation("counterexample-mg14-application").lines


def test_where_passive_processes_ask_nobody_fig_8_has_no_such_run() -> None:
    """Without requests on a way of → the smallest computation that z3 finds is none any more."""
    some = search.breaks_rc_as_fig_8_may(4, 5)
    assert not some.exists()
    no_requests = search.breaks_rc_as_fig_8_may(4, 6)
    no_requests.require_acknowledgements()
    assert not no_requests.exists()


class KeepsAcksBack(MurtyGarg):
    """Queued messages go before queued acknowledgements, which so wait for more than the send that was open."""

    def acknowledged(self, i: int, state: State) -> Step:
        if not state.messages:
            return super().acknowledged(i, state)
        message, *rest = state.messages
        return self.commit_and_send(i, State(False, tuple(rest), state.acks), message)


class AcknowledgesAtOnce(MurtyGarg):
    def may_acknowledge(self, state: Any) -> bool:
        return True


def test_acknowledgements_are_withheld_for_twice_the_smaller_processes_at_most() -> None:
    assert smallest_delay.bound_is_proved()
    assert smallest_delay.longest(3, 3).withheld == smallest_delay.bound(3) == 2
    assert smallest_delay.longest(3, 3, KeepsAcksBack).withheld == 4
    assert smallest_delay.longest(3, 3, AcknowledgesAtOnce).withheld == 0


def test_each_hypothesis_of_that_bound_is_needed() -> None:
    """Nothing follows without one of them, though without the last z3 may not come to an answer."""
    for about in ("a send is open", "an acknowledgement is withheld"):
        dropped = without_each(*smallest_delay.step(about))
        needless = {name for name, verdict in dropped.items() if verdict}
        assert needless == ({"packets take at most t"} if about == "an acknowledgement is withheld" else set())


def test_with_five_processes_the_run_that_z3_finds_withholds_one_for_longer_than_nt() -> None:
    found = smallest_delay.slowest(5, 4)
    assert found is not None
    assert (found.withheld, found.by_z3) == (597, 597)
    assert smallest_delay.slowest(4, 4) is None
    assert smallest_delay.slowest(5, 3) is None


def test_one_extra_message_leaves_too_many_entries_in_the_bundled_run_and_going_on_does_not() -> None:
    run = bundled.run("counterexample-sa6")
    sends = [action for action in run.actions if action.action == "send"]
    deliveries = [action for action in run.actions if action.action == "deliver"]
    assert (len(sends), len(deliveries)) == (sa.MESSAGES, sa.DELIVERIES)
    assert sa.left_by_one() == run
    assert Clearings(4, 5, 9, 2).program() is None


@pytest.mark.slow
def test_ten_messages_with_fewer_deliveries_and_nine_with_as_many_are_not_enough() -> None:
    sizes = [(10, 1), (10, 2), (10, 3), (10, 4), (9, 5)]
    assert [Clearings(4, 5, messages, deliveries).program() for messages, deliveries in sizes] == [None] * len(sizes)


def test_z3_is_not_believed_where_it_gives_up() -> None:
    some = search.breaks_theorem_6(4, 4)
    some.solver.set(rlimit=1)
    with pytest.raises(BoundedSearchGaveUp):
        some.exists()

    def evidence_now(quick: bool) -> Evidence:
        return Evidence(True, "all", str(some.exists()))

    (finding,) = recompute([replace(CLAIMS["MF1"], recompute=evidence_now)])
    assert finding.verdict == "open"
    assert finding.evidence.because.startswith("z3 came to no answer: ")
