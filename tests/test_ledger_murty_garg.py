"""The claims of [MG]: how readings decide verdicts, and for each piece of evidence a planted fault that it sees."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import z3
from broken_murty_garg import (
    AcknowledgesWhilePassive,
    CommitsOnAcknowledgement,
    CommitsWhenItAsks,
    EverybodyAsks,
    IgnoresRequests,
    NobodyAsks,
    ReversesTheRanks,
    SendsBackUncommitted,
    SendsWhilePassive,
)
from faults_in_evidence import Plant, finding_of, finding_with, forget, in_place_of

from crownless.command_line import main
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import Packet, Step
from crownless.model_check.runs import Run
from crownless.proofs.claims import (
    any_split,
    bundled,
    crowns_of_any_size,
    fig_8_variants,
    impossibility_cases,
    impossible_protocols,
    mg,
    monitored_machines,
    murty_garg_theorem_7,
    polling,
    proof_evidence,
    splits,
    synchronous_theorems,
)
from crownless.proofs.claims.claim import Entry, Evidence, Reading, Verdict, verdict_of
from crownless.proofs.claims.evidence import BY_FAIRNESS_IN_WORDS
from crownless.proofs.claims.impossible_protocols import (
    no_bounded_receives,
    no_bounded_sends,
    no_symmetric_protocol,
)
from crownless.proofs.claims.ledger import CLAIMS, recompute
from crownless.proofs.claims.proof_evidence import commit_claims
from crownless.proofs.claims.splits import Split, split_by_names
from crownless.proofs.claims.synchronous_theorems import LEADS, PRECEDES, E, F, theorem_1, theorem_2
from crownless.proofs.theorem import Claim, theorem, without_each
from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import decide

# -- readings ----------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("verdict", "expected"), [("proved", "refuted"), ("checked", "refuted"), ("refuted", "refuted"), ("open", "open")]
)
def test_what_a_text_does_not_say_repairs_nothing(verdict: Verdict, expected: Verdict) -> None:
    """It can only be that its evidence is no longer there."""
    letter, beside = Reading("by the letter", "refuted"), Reading("beside it", verdict, said=False)
    assert verdict_of([letter, beside]) == expected
    assert verdict_of([letter, beside, Reading("repaired", "proved")]) == ("open" if expected == "open" else "repaired")


def test_a_reading_that_is_not_shown_is_open_and_so_is_its_claim() -> None:
    def gather(quick: bool) -> Evidence:
        return Evidence((True, False), "nothing", "nothing")

    judged = (Reading("by the letter", "refuted"), Reading("with a premise", "checked"))
    (finding,) = recompute([Entry("MG1", "", "", judged, gather)])
    assert finding.entry.recorded == "repaired"
    assert [reading.verdict for reading in finding.readings] == ["refuted", "open"]
    assert (finding.verdict, finding.as_recorded) == ("open", False)


def test_a_crown_has_two_messages_or_more_since_its_chain_begins_with_another_receive() -> None:
    finding = finding_of("MG2")
    assert finding.verdict == CLAIMS["MG2"].recorded == "proved"
    assert CLAIMS["MG2"].reading.startswith("k ≥ 2: the chain of the definition begins s0 → r1")
    assert "counterexample-mg2" not in library.counterexamples()


def test_theorem_7_is_proved_for_every_n_by_the_formulas_alone() -> None:
    finding = finding_of("MG15")
    assert finding.verdict == CLAIMS["MG15"].recorded == "proved"
    assert finding.evidence.scope.startswith("any number of processes and messages, each message acknowledged")
    lemmas = "r1 ≺ s2 ⇒ s1 → s2; r1 ≺ r2 ⇒ s1 → b2; s1 ≺ s2 ⇒ b1 → s2; s1 ≺ r2 ⇒ b1 → b2"
    assert lemmas in finding.evidence.because


def test_that_fig_8_does_not_deadlock_is_proved_for_every_n() -> None:
    finding = finding_of("MG18")
    assert finding.verdict == CLAIMS["MG18"].recorded == "proved"
    assert finding.evidence.scope.startswith("Fig. 8: any number of processes and messages")
    assert BY_FAIRNESS_IN_WORDS in finding.evidence.scope
    (deadlock,) = finding.evidence.shown
    assert isinstance(deadlock.what, Run)
    assert [action.action for action in deadlock.what.actions] == ["send", "send"]


@pytest.mark.parametrize("name", ["MG4", "MG5"])
def test_that_the_formulas_are_about_all_protocols_of_the_class_is_said_to_be_argued(name: str) -> None:
    assert mg.ARGUED in finding_of(name).evidence.scope
    assert mg.ARGUED.endswith("is argued")


def test_the_scope_of_fig_8_names_what_is_in_words() -> None:
    scope = finding_of("MG17").evidence.scope
    assert "that there is then no crown is in words" in scope
    assert BY_FAIRNESS_IN_WORDS in scope


def test_readings_are_printed_and_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["claims", "MG11", "--quick"])
    out = capsys.readouterr().out
    assert "  read as: ↦ as printed: proved\n" in out
    assert "  not said: of one message, as s1 ↦ r1: refuted\n" in out
    with pytest.raises(SystemExit):
        main(["claims", "MG11", "--quick", "--json"])
    (facts,) = json.loads(capsys.readouterr().out)["claims"]
    assert [reading["verdict"] for reading in facts["readings"]] == ["proved", "proved", "refuted"]
    assert [reading["said"] for reading in facts["readings"]] == [True, True, False]


# -- what is bundled is about what is false ----------------------------------------------------------------------------


def test_what_overtakes_has_no_crown_by_the_relations_as_printed_and_one_by_chains() -> None:
    split = split_by_names(bundled.computation("counterexample-mg10"))
    assert split.crown_sizes(split.maps_to_as_printed) == split.crown_sizes(split.leads_within_own_as_printed) == []
    assert split.crown_sizes(split.maps_to) == [2]
    assert not decide(split.application, "synchronous").kept


def test_the_counterexample_to_lemma_4_has_its_crown_by_the_printed_relation_and_keeps_the_priority_rule() -> None:
    split = split_by_names(bundled.computation("counterexample-mg13"))
    assert split.send_condition()
    assert split.receive_condition()
    assert split.ranked()
    assert split.crown_sizes(split.maps_to_as_printed) == [3]
    assert split.crown_sizes(split.precedes) == []


def test_the_figures_of_the_impossibilities_are_not_synchronous() -> None:
    figures = [impossibility_cases.crossing(), *(impossibility_cases.ring_cut_short(p) for p in range(3))]
    assert not any(decide(c, "synchronous").kept for c in figures)


# -- each hypothesis of a proof is needed ------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [no_bounded_sends(), no_bounded_receives()], ids=lambda claim: claim.name)
def test_without_any_one_hypothesis_bounded_delays_are_possible(claim: Claim) -> None:
    assert {verdict.outcome for verdict in without_each(*claim).values()} == {"refuted"}


def test_each_way_of_being_alike_is_needed() -> None:
    needed = {
        name
        for claim in no_symmetric_protocol()
        for name, verdict in without_each(*claim).items()
        if verdict.outcome == "refuted"
    }
    assert needed == {name for claim in no_symmetric_protocol() for name in claim.given}


def test_each_part_of_sync_is_needed() -> None:
    needed = {
        name
        for claim in (*theorem_1(), *theorem_2())
        for name, verdict in without_each(*claim).items()
        if verdict.outcome == "refuted"
    }
    assert set(synchronous_theorems.sync()) | set(synchronous_theorems.leads_in_time()) <= needed
    assert "a cycle has two messages or more" in needed
    assert "nobody sends to himself" in needed


def test_each_hypothesis_of_theorem_7_that_the_text_states_is_needed() -> None:
    needed: set[str] = set()
    for claim in murty_garg_theorem_7.four_lemmas():
        needed |= {name for name, verdict in without_each(*claim).items() if verdict.outcome == "refuted"}
    assert {"SP", "RP", "each message is acknowledged"} <= needed


def test_lemma_1_by_the_letter_is_the_definition_and_of_chains_it_is_false() -> None:
    assert any_split.lemma_1(as_printed=True) == "proved"
    assert any_split.lemma_1(as_printed=False) == "refuted"


def test_each_hypothesis_of_lemma_4_is_needed_but_for_what_the_size_says_in_any_case() -> None:
    """Whether z3 proves a claim without the redundant one depends on what it was asked before: that is shown apart."""
    redundant = "a cycle has two messages or more"
    for claim, size in zip(crowns_of_any_size.lemma_4(), ("two messages", "three messages or more"), strict=True):
        needless = {name for name, verdict in without_each(*claim, effort=200_000).items() if verdict}
        assert needless <= {redundant}
        assert theorem(redundant, {size: claim.given[size]}, claim.given[redundant])


def test_happened_before_lies_within_chains_and_not_within_the_printed_relation(
    plant: Replace,
) -> None:
    assert any_split.maps_to_holds_happened_before()
    any_split.maps_to_holds_happened_before.cache_clear()
    plant(any_split.AnySplit, "maps_to", any_split.AnySplit.maps_to_as_printed)
    assert not any_split.maps_to_holds_happened_before()


# -- planted faults ----------------------------------------------------------------------------------------------------

Replace = Callable[[Any, str, Any], None]

MODULES = (
    any_split,
    crowns_of_any_size,
    impossibility_cases,
    impossible_protocols,
    monitored_machines,
    murty_garg_theorem_7,
    polling,
    proof_evidence,
    splits,
    synchronous_theorems,
)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Replace]:
    """Replaces a part that evidence rests on; what was found with or without it is forgotten."""
    forget(*MODULES)
    yield monkeypatch.setattr
    forget(*MODULES)


def without(given: Callable[..., dict[str, Any]], dropped: str) -> Callable[..., dict[str, Any]]:
    """The hypotheses without one of them."""

    def rest(*arguments: Any) -> dict[str, Any]:
        hypotheses = given(*arguments)
        del hypotheses[dropped]
        return hypotheses

    return rest


def contradictory(
    self: impossible_protocols.TwoProcesses, original: Any = impossible_protocols.TwoProcesses.symmetric
) -> dict[str, Any]:
    return {**original(self), "never": impossible_protocols.CONTRADICTION}


def answers_while_it_waits(self: polling.ReceiversAsk, i: int, state: polling.Polling, j: int) -> Step:
    """a process that waits for an answer commits a send"""
    return self.answer(i, state, j)


def keeps_everybody_waiting(self: polling.ReceiversAsk, i: int, j: int) -> bool:
    """two that poll each other wait for ever"""
    return True


def sends_everybody_away(self: polling.ReceiversAsk, i: int, j: int) -> bool:
    """two that poll each other send each other away"""
    return False


def commits_later(
    self: polling.ReceiversAsk,
    i: int,
    state: polling.Polling,
    packet: Packet,
    original: Any = polling.ReceiversAsk.on_packet,
) -> list[Step]:
    """a receive is not committed on arrival"""
    return [
        step._replace(events=[e for e in step.events if e.kind == "send"]) for step in original(self, i, state, packet)
    ]


def sends_no_request(self: polling.ReceiversAsk, i: int, state: polling.Polling) -> list[Any]:
    """receivers do not ask"""
    return []


def acknowledges_before_its_own(
    self: monitored_machines.ByTheLetter,
    i: int,
    state: Any,
    packet: Packet,
    original: Any = monitored_machines.ByTheLetter.on_packet,
) -> list[Step]:
    """What was open at the receive need not be acknowledged first."""
    return [
        step._replace(state=(step.state[0], tuple(owed._replace(waits=False) for owed in step.state[1])))
        for step in original(self, i, state, packet)
    ]


def lacking(claim: Callable[[], Claim], dropped: str) -> Callable[[], Claim]:
    return lambda: claim()._replace(given=without(lambda: dict(claim().given), dropped)())


#: The hypotheses under this name are gone, or contradict each other.
NEVER = {"never": z3.BoolVal(False)}
OF_TWO, RECEIVERS = impossible_protocols.TwoProcesses, polling.ReceiversAsk
LINKS, LETTER = murty_garg_theorem_7.Links, monitored_machines.ByTheLetter


def _only_precedes() -> dict[str, Any]:
    return {"→ holds ≺": z3.ForAll([E, F], PRECEDES(E, F) == LEADS(E, F))}


FAULTS: list[tuple[str, str, Plant]] = [
    (
        "MG1",
        "messages need not be vertical",
        in_place_of(synchronous_theorems, "sync", without(synchronous_theorems.sync, "SYNC: T(s) = T(r)")),
    ),
    ("MG1", "nothing overtakes", in_place_of(mg, "overtakes", lambda c, first, second, causally: False)),
    ("MG2", "happened-before is anything", in_place_of(synchronous_theorems, "leads_in_time", dict)),
    ("MG2", "no crowns are found", in_place_of(mg, "crowns", lambda c: iter(()))),
    ("MG3", "≺ is not within →", in_place_of(synchronous_theorems, "_contained", dict)),
    ("MG3", "every crown is strong", in_place_of(synchronous_theorems, "happened_before", _only_precedes)),
    ("MG4", "not symmetric", in_place_of(OF_TWO, "symmetric", without(OF_TWO.symmetric, "both step alike"))),
    ("MG4", "Fig. 8 made symmetric", in_place_of(mg, "MurtyGarg", EverybodyAsks)),
    (
        "MG4",
        "a protocol that is symmetric by declaration only",
        in_place_of(mg, "PROTOCOLS", {"murty-garg": type("Alike", (MurtyGarg,), {"symmetric": True})}),
    ),
    ("MG4", "what is symmetric contradicts itself", in_place_of(OF_TWO, "symmetric", contradictory)),
    ("MG5", "Fig. 8 as it is", in_place_of(mg, "AcknowledgesAtOnce", MurtyGarg)),
    *(
        (
            "MG5",
            f"without {dropped}",
            in_place_of(impossible_protocols, "no_bounded_receives", lacking(no_bounded_receives, dropped)),
        )
        for dropped in ("bounded receives", "decided by the view")
    ),
    (
        "MG5",
        "places out of time",
        in_place_of(impossibility_cases.PlacedAfterwards, "in_time", staticmethod(lambda state: False)),
    ),
    *(
        ("MG5", str(fault.__doc__), in_place_of(RECEIVERS, what, fault))
        for what, fault in (
            ("polled", answers_while_it_waits),
            ("keeps_waiting", keeps_everybody_waiting),
            ("keeps_waiting", sends_everybody_away),
            ("on_packet", commits_later),
            ("internal", sends_no_request),
        )
    ),
    ("MG6", "Fig. 8 as it is", in_place_of(mg, "SendsAtOnce", MurtyGarg)),
    (
        "MG6",
        "packets in time",
        in_place_of(impossible_protocols, "no_bounded_sends", lacking(no_bounded_sends, "the packets take longer")),
    ),
    *(
        (
            "MG7",
            kind.__name__,
            in_place_of(mg, "commits", lambda n, m, kind=kind: fig_8_variants.commits(n, m, kind)),
        )
        for kind in (
            NobodyAsks,
            EverybodyAsks,
            ReversesTheRanks,
            CommitsWhenItAsks,
            SendsBackUncommitted,
            CommitsOnAcknowledgement,
            IgnoresRequests,
        )
    ),
    *(
        (
            "MG7",
            f"z3 checks {kind.__name__}",
            in_place_of(proof_evidence, "commit_claims", lambda kind=kind: commit_claims(kind)),
        )
        for kind in (
            proof_evidence.SendsToAnybody,
            proof_evidence.CommitsWhenItAsks,
            proof_evidence.CommitsOnAcknowledgement,
        )
    ),
    *((name, "another machine", in_place_of(mg, "is_proved", lambda *of: False)) for name in ("MG7", "MG18")),
    ("MG10", "↦ as printed is wide enough", in_place_of(Split, "maps_to_as_printed", Split.maps_to)),
    ("MG10", "chains as printed", in_place_of(Split, "chain_leads", Split.maps_to_as_printed)),
    ("MG10", "→_ℰ is →", in_place_of(Split, "leads_within_own_as_printed", Split.leads)),
    ("MG11", "without SC", in_place_of(Split, "send_condition", lambda split: True)),
    ("MG12", "without RC", in_place_of(Split, "receive_condition", lambda split: True)),
    *(
        (name, f"without {what}", in_place_of(crowns_of_any_size, what, dict))
        for name, what in (
            ("MG13", "of_two_messages"),
            ("MG13", "of_three_messages"),
            ("MG13", "no_smaller_crown"),
            ("MG14", "no_smaller_crown"),
            ("MG14", "of_ranks"),
        )
    ),
    (
        "MG13",
        "another message is left out",
        in_place_of(crowns_of_any_size, "without_place", lambda p: lambda i: z3.If(i <= p, i, i + 1)),
    ),
    ("MG13", "the step is of nothing", in_place_of(crowns_of_any_size, "of_three_messages", lambda: dict(NEVER))),
    ("MG14", "of no ranks", in_place_of(crowns_of_any_size, "of_ranks", lambda: dict(NEVER))),
    ("MG14", "RC for RC⁺", in_place_of(Split, "strong_receive_condition", lambda split: True)),
    *(
        ("MG15", f"{what}, {why}", in_place_of(LINKS, what, lambda links, fault=fault: fault))
        for what, why, fault in (
            ("send_protocol", "of nothing", z3.BoolVal(True)),
            ("receive_protocol", "of nothing", z3.BoolVal(True)),
            ("receive_protocol", "never", z3.BoolVal(False)),
            ("no_smaller_cycle", "of nothing", {}),
            ("links_are_in_time", "of nothing", {}),
        )
    ),
    ("MG15", "RP's formula is not kept", in_place_of(LETTER, "on_packet", acknowledges_before_its_own)),
    (
        "MG16",
        "the formulas have acknowledgements sent",
        in_place_of(mg, "NeverAcknowledges", monitored_machines.ByTheLetterWithRanks),
    ),
    ("MG17", "commits as in Fig. 8", in_place_of(fig_8_variants, "CommitsAtAcknowledgement", MurtyGarg)),
    ("MG17", "sends as in Fig. 8", in_place_of(fig_8_variants, "SendsWhenWanted", MurtyGarg)),
    (
        "MG17",
        "intents kept in order",
        in_place_of(
            mg,
            "MurtyGarg",
            type(
                "SendsWhenHanded",
                (MurtyGarg,),
                {"must_request": lambda machine, i, j: False, "may_send": lambda *_: True},
            ),
        ),
    ),
]


@pytest.mark.parametrize(
    ("name", "fault"), [(n, fault) for n, _, fault in FAULTS], ids=[f"{n}: {w}" for n, w, _ in FAULTS]
)
@pytest.mark.usefixtures("plant")
def test_a_planted_fault_leaves_the_claim_open(name: str, fault: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding_with(fault, name, monkeypatch).verdict == "open"


def test_mg1_is_open_if_every_computation_is_taken_for_synchronous(plant: Replace) -> None:
    plant(mg, "has_timestamps", lambda c: True)
    finding = finding_of("MG1")
    assert finding.verdict == "open"
    assert [shown.title for shown in finding.evidence.shown] == ["outside the chain"]


@pytest.mark.parametrize(
    ("name", "kind", "fault"),
    [
        ("MG8", "MonitoredMurtyGarg", SendsWhilePassive),
        ("MG9", "MonitoredAcknowledgements", AcknowledgesWhilePassive),
        ("MG14", "MonitoredAcknowledgements", NobodyAsks),
    ],
)
def test_a_fault_of_the_machine_is_seen_by_its_monitor(plant: Replace, name: str, kind: str, fault: type) -> None:
    monitored = getattr(monitored_machines, kind)
    plant(monitored_machines, kind, type("Faulty", (monitored,), {"kind": fault}))
    assert finding_of(name).verdict != CLAIMS[name].recorded


def computation(*lines: str) -> Computation:
    return to_computation(parse("\n".join(lines)))


#: Breaks the lemma by chains only: by ↦ as printed it has no crown.
CROWN_OF_CHAINS = computation(
    "P1: send m1 to P2",
    "P2: send m2 to P3; receive m1; send c1 to P4",
    "P3: send m3 to P4; receive m2",
    "P4: receive c1; receive m3",
)


@pytest.mark.parametrize("name", ["MG13", "MG14"])
@pytest.mark.parametrize("other", [CROWN_OF_CHAINS, computation("P1: receive m1", "P2: send m1 to P1")])
def test_another_computation_is_no_counterexample(plant: Replace, name: str, other: Computation) -> None:
    plant(bundled, "computation", lambda name: other)
    assert finding_of(name).verdict == "open"


def test_the_crown_of_chains_is_none_by_the_printed_relation() -> None:
    split = split_by_names(CROWN_OF_CHAINS)
    assert split.crown_sizes(split.maps_to) == [3]
    assert split.crown_sizes(split.maps_to_as_printed) == []
    assert not split.ranked()


def test_what_is_proved_of_two_processes_is_not_of_nothing() -> None:
    two = impossible_protocols.TwoProcesses()
    given = {**two.symmetric(), **two.alike()}
    assert theorem("alike by itself", given, impossible_protocols.CONTRADICTION).outcome == "refuted"
