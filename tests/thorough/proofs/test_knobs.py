"""The map of a design space: combinations refuted, proved, merged and compared; tables that resume; bad knobs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as parquet
import pytest
from command_line_runner import Crownless
from rst_knobs import behavior, few, map_of_rst, named

import crownless as cr
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import protocol_named
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.research.commands.knobs_page import page_of
from crownless.research.costs.sweeps import Where
from crownless.research.knobs import drawing
from crownless.research.knobs.combinations import Combination, class_with_knobs, combinations, knobs_of, size
from crownless.research.knobs.deciding import growing
from crownless.research.knobs.knob_map import KnobMap
from crownless.research.knobs.knobs_of_buffer import BufferByKnobs
from crownless.research.knobs.knobs_of_rst import RstByKnobs
from crownless.research.knobs.same_functions import functions_of
from crownless.research.knobs.sweeping import knob_map

ROOT = Path(__file__).parents[3]
OWN = f"{Path(__file__).parents[2] / 'helpers' / 'fifo_by_knobs.py'}:FifoByKnobs"
FifoByKnobs = protocol_named(OWN)


@pytest.fixture(scope="module")
def own() -> KnobMap:
    return cr.knobs(FifoByKnobs)


# -- a class of one's own ----------------------------------------------------------------------------------------------


def test_an_outside_class_with_two_knobs_is_mapped(own: KnobMap) -> None:
    said = {each.combination.name: (each.outcome, each.violated) for each in own.decisions.values()}
    assert said == {
        "as published": ("holds", None),
        "number: from one": ("violated", "delivers-all"),
        "accepts: the next, from one": ("violated", "delivers-all"),
        "accepts: any earlier": ("holds", None),
        "accepts: anything": ("violated", "fifo"),
        "number: from one, accepts: the next, from one": ("holds", None),
        "number: from one, accepts: any earlier": ("violated", "delivers-all"),
        "number: from one, accepts: anything": ("violated", "fifo"),
    }
    assert own.alike == "to the application they are one protocol (branching bisimilar, up to (2, 3))"
    (family,) = own.families
    assert (family.generates, family.exact, len(family.decisions)) == (
        "equals fifo within (2, 3) (there = causal, mailbox, one-n, n-n)",
        True,
        3,
    )
    assert [pair.both.combination.name for pair in own.only_together()] == [
        "number: from one, accepts: the next, from one"
    ]
    assert not own.not_both()
    assert not own.never_matter()
    assert not own.contradictions
    assert sorted(map(len, own.islands)) == [1, 2]


def test_what_is_said_of_all_right_combinations_has_its_bound() -> None:
    """Causal and mailbox order do not differ within it: the buffers equal both, and beyond it one of them."""
    kind = type(
        "Few", (BufferByKnobs,), {"knobs": {"acknowledgement_ends": BufferByKnobs.knobs["acknowledgement_ends"]}}
    )
    found = cr.knobs(kind, 2, 2)
    (family,) = found.families
    assert family.generates.startswith("equals causal within (2, 2) (there = fifo, mailbox")
    assert found.idle == (
        "never change what holds up to (2, 2) or is generated up to (2, 2), whatever the other knobs: "
        "acknowledgement ends"
    )
    page = page_of(found, None, "page.md")
    assert f"| {family.generates} | 2 |" in page
    assert f"\n{found.idle.replace('never', 'Never', 1)}.\n" in page


@pytest.mark.parametrize("page", sorted((ROOT / "docs/knobs").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_a_map_says_nothing_without_its_bound(page: Path) -> None:
    text = page.read_text("utf-8")
    assert not re.search(r"^\| exactly ", text, re.MULTILINE)
    assert re.search(r"^\| equals \w+ within \(3, 3\)", text, re.MULTILINE)
    assert all(" up to (" in line for line in text.splitlines() if line.startswith("Never matter"))


def test_the_map_credits_the_papers_and_calls_nothing_new() -> None:
    text = (ROOT / "docs/knobs.md").read_text("utf-8")
    assert not re.search(r"\(new|\"new\"", text, re.IGNORECASE)
    for find in ("Which of the two counts is needed?", "What need not travel.", "One entry is enough."):
        assert "[SA] §3" in text.partition(f"**{find}")[2].partition("\n* **")[0], find
    assert "we have not searched the literature beyond [Kup], [MF], [MG], [SA]\nand [SES]" in text


def test_acknowledged_on_delivery_and_pipelined_any_order_of_deliveries_is_wrong_in_seven_actions() -> None:
    pipelined = "acknowledged on: delivery, next may go: with none outstanding from another receiver"
    result = run_check(Check(f"buffer[{pipelined}, next delivered: the newest]", 2, 2, channel="fifo"))
    assert len(result["causal"].run or ()) == 7
    assert run_check(Check("buffer[acknowledged on: delivery, next delivered: the newest]", 2, 2, channel="fifo")).holds
    assert run_check(Check(f"buffer[{pipelined}]", 2, 2, channel="fifo")).holds


def test_a_wrong_alternative_has_a_shortest_run(own: KnobMap) -> None:
    wrong = named(own, "accepts: anything")
    assert wrong.run == ("P1: send m1 to P2", "P1: send m2 to P2", "P2: deliver m2 from P1")
    assert wrong.row["weakest_channel"] == "fifo"
    assert named(own, "accepts: the next, from one").row["weakest_channel"] is None


def test_what_no_proof_covers_says_so(own: KnobMap) -> None:
    assert own.published.row["unproved"] == "no proof for every n covers this class"
    assert own.headline == "8 combinations: 3 hold"


def test_the_command_reports_it(crownless: Crownless, tmp_path: Path) -> None:
    svg, page = tmp_path / "map.svg", tmp_path / "map.md"
    answer = crownless("knobs", OWN, "--workers", 1, "--svg", svg, "--page", page)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-1] == ("8 combinations: 3 hold; 3 violate delivers-all; 2 violate fifo")
    squares = [each for each in ElementTree.parse(svg).iter() if each.tag.endswith("title")]
    assert len(squares) == 4 * 4 - 3 * 2, "every pair but those of one knob"
    assert "P2: deliver m2 from P1" in "".join(filter(None, (each.text for each in squares)))
    assert "![What every two alternatives do together](map.svg)" in page.read_text("utf-8")
    assert "| anything | violates fifo in 3 actions, at (2, 2); holds over the fifo channel, up to (2, 3) |" in (
        page.read_text("utf-8")
    )
    shown = crownless("knobs", OWN, "--workers", 1, "--show", "accepts: anything")
    assert shown.code == 1, "one that is wrong"
    assert crownless("knobs", OWN, "--show", "accepts: anything", "--json").json["violated"] == "fifo"
    assert crownless("knobs", OWN, "--show", "accepts: anything", "--out", tmp_path).code == 2
    facts = crownless("knobs", OWN, "--workers", 1, "--json", "--out", tmp_path / "kept").json
    table = parquet.read_table(tmp_path / "kept" / "combinations.parquet").to_pylist()
    assert next(row["combination"] for row in table if row["outcome"] == "holds") == "as published"
    assert "  P2: deliver m2 from P1" in shown.out.splitlines()
    assert (facts["combinations"], facts["outcomes"]["holds"], facts["islands"]) == (8, 3, [2, 1])


def test_any_verb_takes_a_combination(crownless: Crownless) -> None:
    answer = crownless("check", f"{OWN}[accepts: anything]")
    assert answer.code == 1
    assert answer.out.startswith(f"{OWN}[accepts: anything] violates fifo")
    assert protocol_named("rst[receiver counts: no, guard: exactly one less from the sender]").promises == "causal"
    for name, said in {
        "guard: nothng": "unknown alternative of guard 'nothng'; did you mean 'nothing'?",
        "gard: nothing": "unknown knob 'gard'; did you mean 'guard'?",
        "guard: nothing, guard: of the sender alone": "the knob guard is turned twice",
    }.items():
        refused = crownless("check", f"rst[{name}]")
        assert (refused.code, said in refused.err) == (2, True)


def test_every_verb_takes_it(crownless: Crownless, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert crownless("explore", "rst[guard: nothing]", "-n", 2, "-m", 2, "--html", page).code == 0
    assert page.exists()
    for bad in ("rst]", "rst[guard: nothing"):
        answer = crownless("check", bad)
        assert (answer.code, "has one bracket" in answer.err) == (2, True)
    assert "has no map" in crownless("knobs", "rst[guard: nothing]").err


def test_prove_says_of_a_combination_what_the_map_says(crownless: Crownless) -> None:
    """By the invariants of its choices: those of `rst` do not hold of all of them."""
    answer = crownless(
        "prove", "rst[delivered: the own column of SENT]", "ses[inserted: the sender's entry of VT(M), alone]"
    )
    assert answer.code == 0, answer.out


def test_a_combination_whose_code_fails_is_wrong(crownless: Crownless) -> None:
    fails = {"the next": FifoByKnobs.knobs["accepts"]["the next"], "fails": lambda self, delivered, number: number[0]}
    kind = type("Fails", (FifoByKnobs,), {"knobs": {"accepts": fails}})
    found = cr.knobs(kind)
    decision = found["accepts: fails"]
    assert (found.published.outcome, decision.outcome, decision.violated) == ("holds", "violated", "fails")
    assert "'int' object is not subscriptable" in decision.said
    first = type("Fails", (FifoByKnobs,), {"knobs": {"accepts": dict(reversed(fails.items()))}})
    with pytest.raises(cr.BadInput, match="not subscriptable"):
        cr.knobs(first)


def test_a_table_resumes(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []
    first = knob_map(OWN, out=tmp_path)
    files = sorted(tmp_path.rglob("*.parquet"))
    again = knob_map(OWN, out=tmp_path, progress=lambda done, total: reported.append((done, total)))
    assert reported == [(8, 8), (3, 3)], "nothing is decided again"
    assert sorted(tmp_path.rglob("*.parquet")) == files
    assert again.json() == first.json()
    larger = knob_map(OWN, messages=4, out=tmp_path)
    assert larger.published.row["at_messages"] == 4


def test_several_processes_say_the_same(own: KnobMap) -> None:
    spread = knob_map(OWN, where=Where(workers=2))
    assert [each.said for each in spread.decisions.values()] == [each.said for each in own.decisions.values()]


def test_spark_says_the_same(spark: Any, own: KnobMap) -> None:
    spread = knob_map(OWN, where=Where("spark"))
    assert [each.said for each in spread.decisions.values()] == [each.said for each in own.decisions.values()]


def test_what_ended_early_is_decided_later(tmp_path: Path) -> None:
    """A limit is nothing about a combination."""
    ended = cr.knobs(FifoByKnobs, max_seconds=0.0, out=tmp_path)
    assert ended.outcomes["unknown"] == 8
    assert cr.knobs(FifoByKnobs, out=tmp_path).outcomes["holds"] == 3


def test_what_ends_early_is_reported(crownless: Crownless, tmp_path: Path) -> None:
    answer = crownless("knobs", "rst", "--workers", 1, "--max-seconds", 1, "--out", tmp_path)
    assert answer.code == 3
    assert "the same command resumes there" in answer.err
    assert "not decided" in answer.out


class TestBadKnobs:
    def knobs(self, **knobs: Any) -> type[ProtocolMachine]:
        return type("Bad", (FifoByKnobs,), {"knobs": knobs})

    @pytest.mark.parametrize(
        ("knobs", "said"),
        [
            ({}, "has no knobs"),
            ({"number": {"from zero": lambda self, sent: sent}}, "number has one alternative"),
            ({"number": {}}, "number has no alternatives"),
            ({"number": [1, 2]}, "number has no alternatives by name"),
            ({"number": {"zero": 0, "one": 1}}, "zero is int, not a function"),
            ({"number": {"a": lambda self, sent: sent, "b": lambda self: 0}}, "b takes (self)"),
            ({"none_such": {"a": lambda self: 0, "b": lambda self: 1}}, "none_such is not a method"),
            ({"number": {"a\n|b": lambda self, sent: sent, "b": lambda self, sent: 0}}, r"the alternative 'a\n|b'"),
            ({"promises": {"a": lambda self: 0, "b": lambda self: 1}}, "promises is not a method"),
        ],
    )
    def test_they_are_refused_in_a_line(self, knobs: dict[str, Any], said: str) -> None:
        with pytest.raises(cr.BadInput) as refused:
            cr.knobs(self.knobs(**knobs))
        assert said in str(refused.value)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize("arguments", [["unordered"], [OWN, "--show", "nothing"], [OWN, "--engine", "native"]])
    def test_the_command_ends_with_2(self, crownless: Crownless, arguments: list[str]) -> None:
        answer = crownless("knobs", *arguments, "--workers", 1)
        assert (answer.code, answer.err.count("\n")) == (2, 1)


# -- the matrix protocol -----------------------------------------------------------------------------------------------


def test_the_first_combination_is_the_protocol_itself() -> None:
    first = next(combinations(RstByKnobs))
    ours, text = (run_check(Check(kind, 3, 3), engine="plain") for kind in (first.protocol, Rst))
    assert ours.exploration.states == text.exploration.states
    assert ours.exploration.transitions == text.exploration.transitions
    assert size(knobs_of(RstByKnobs)) > 1_000


def test_growing_bounds() -> None:
    assert growing((4, 4)) == [(2, 2), (2, 3), (3, 3), (3, 4), (4, 4)]
    assert growing((2, 4)) == [(2, 2), (2, 3), (2, 4)]
    assert growing((4, 2)) == [(2, 2), (3, 2), (4, 2)]
    assert growing((1, 1)) == [(1, 1)]


@pytest.fixture(scope="module")
def of_rst() -> KnobMap:
    return map_of_rst()


def test_sent_alone_is_found_right_and_only_with_the_receivers_increment(of_rst: KnobMap) -> None:
    assert named(of_rst, "delivered: the own column of SENT").proved
    assert named(of_rst, "receiver counts: no").proved
    assert named(of_rst, "delivered: the own column of SENT, receiver counts: no").outcome == "violated"
    assert "delivered: the own column of SENT, receiver counts: no" in {
        pair.both.combination.name for pair in of_rst.not_both()
    }


def test_nothing_is_proved_and_refuted(of_rst: KnobMap) -> None:
    proved = [each for each in of_rst.holding if each.proved]
    assert len(proved) > 5
    assert of_rst.contradictions == []
    row = {**proved[0].row, "violated": "causal"}
    planted = replace(of_rst, decided={**of_rst.decided, proved[0].combination.places: row})
    assert [each.combination for each in planted.contradictions] == [proved[0].combination]


def test_what_is_proved_holds_at_a_larger_bound(of_rst: KnobMap) -> None:
    for each in of_rst.holding:
        if each.proved:
            result = run_check(Check(each.combination.protocol, 3, 4), workers=1)
            assert not result.violations, each.combination.name


# -- equal functions ---------------------------------------------------------------------------------------------------


def test_equal_functions_are_explored_once() -> None:
    found = cr.knobs(few("receiver_counts", "learned"), 3, 3)
    merged = {each.combination.name: each.same_as and each.same_as.name for each in found.decisions.values()}
    assert merged == {
        "as published": None,
        "receiver counts: no": None,
        "learned: merged, then counted": None,
        "receiver counts: no, learned: merged, then counted": "receiver counts: no",
    }


def test_different_functions_differ() -> None:
    kinds = few("guard", "merged", "delivered")
    texts = [functions_of(each.protocol) for each in combinations(kinds)]
    assert None not in texts
    assert len(set(texts)) == len(texts) - 3, "a guard that checks nothing does not read what is delivered"
    again = functions_of(Combination(kinds, knobs_of(kinds), (0, 0, 0)).protocol)
    assert again == texts[0], "names of bound variables do not count"
    assert functions_of(FifoByKnobs) is None, "its code does not run on terms"


def test_what_the_application_cannot_tell_apart_behaves_alike() -> None:
    assert behavior("rst") == behavior("ses") == behavior("rst-before"), "none waits longer than causal order demands"
    assert behavior("buffer", 2, 3) == behavior("buffer[acknowledgement ends: all waits]", 2, 3)


def test_what_waits_longer_behaves_otherwise() -> None:
    """It sends the same, and may deliver later."""
    assert behavior("buffer") != behavior("rst")
    assert behavior("rst", 2, 2) != behavior("rst[guard: nothing]", 2, 2)


def test_bundled_protocols_are_taken_apart() -> None:
    assert class_with_knobs("rst") is RstByKnobs
    found = cr.knobs(few("merged"), 2, 2)
    assert json.dumps(found.json())
    assert drawing.in_svg(found).startswith("<svg")
