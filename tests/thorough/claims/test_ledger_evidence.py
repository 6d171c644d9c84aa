"""Evidence that can fail: a fault is planted in what a claim is about, and the claim no longer has its verdict.

Each fault is planted in a protocol's class, or in a definition that a proof is about, so that searches, proofs and
comparisons all see it. What was found before is forgotten meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import z3

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.buffer_bounded import BufferBounded
from crownless.impl.protocols.buffer_pipelined import BufferPipelined
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.protocols.kearns import Kearns
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.impl.protocols.ses_multicast import SesMulticast
from crownless.impl.protocols.ses_rollback import SesRollback
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.variant import variant
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.proofs import proving
from crownless.proofs.induction.any_run import Event
from crownless.proofs.induction.theorem import Claim, Verdict, theorem, without_each
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.protocols import buffer_lemmas
from crownless.proofs.protocols import extra_messages_constraints as constraints
from crownless.proofs.protocols.extra_messages import WithExtraMessages
from crownless.proofs.protocols.vector_time import VectorTimeRun
from crownless.research.claims import buffers as claim_buffers
from crownless.research.claims import fig_8, impossibilities, mf, mf_remarks, monitored_machines, sa, ses
from crownless.research.claims import gathering as kinds
from crownless.research.claims.ledger import CLAIMS, Finding, recompute
from crownless.research.claims.splits import Split
from crownless.research.theorems import (
    buffer_reach,
    conditions,
    few_entries,
    impossible_protocols,
    synchronous,
    total_order,
    waiting_messages,
)
from crownless.research.theorems.evidence import Evidence, by_z3, found, none_found
from crownless.research.variants import for_matrices as matrices
from crownless.research.variants import for_mattern_fuenfrocken as buffers
from crownless.research.variants import for_murty_garg as fig_8_variants
from crownless.research.variants import for_schiper_eggli_sandoz as pair_variants
from crownless.spec.clocks import LamportClock
from crownless.spec.orders import decide
from crownless.spec.orders import keeps as keeps_by_search

#: Steps of z3 in which what is right is proved (`test_proofs_of_causal_order.py`), at some seed. What a fault breaks is
#: not proved in any number of them.
FEW, SEEDS = 200_000, 6


def in_a_few_steps(name: str, given: Any, shows: Any, effort: int = EFFORT, attempts: int = 1) -> Verdict:
    """What is to be refuted, such as that the hypotheses contradict each other, takes as many as it takes."""
    if z3.is_false(shows):
        return theorem(name, given, shows, effort, attempts)
    return theorem(name, given, shows, min(effort, FEW), max(attempts, SEEDS))


def forget(*, proofs: bool = True) -> None:
    """Empties the caches of all evidence; also of the proofs of whole protocols, unless no protocol is touched."""
    for module in [
        module for name, module in sys.modules.items() if name.startswith(("crownless.proofs", "crownless.research"))
    ]:
        for value in list(vars(module).values()):
            cached = getattr(value, "__module__", None) == module.__name__ and hasattr(value, "cache_clear")
            if cached and (proofs or value is not kinds.proof_of):
                value.cache_clear()


@contextmanager
def forgetting(*, proofs: bool = True) -> Iterator[None]:
    """What was found before is forgotten, and so is what is found here."""
    forget(proofs=proofs)
    try:
        with patch.object(proving, "theorem", in_a_few_steps):
            yield
    finally:
        forget(proofs=proofs)


@pytest.fixture
def _nothing_remembered() -> Iterator[None]:
    with forgetting():
        yield


def finding_of(name: str) -> Finding:
    """The claim, recomputed at its smaller bounds."""
    (finding,) = recompute([CLAIMS[name]], quick=True)
    return finding


# -- each kind of evidence ---------------------------------------------------------------------------------------------

X = z3.Int("x")
POSITIVE, NOT_NEGATIVE = Claim("x > 0", {"x > 1": X > 1}, X > 0), Claim("x ≥ 0", {}, X >= 0)
REORDERS, IN_ORDER = kinds.explored(Unordered(2), Free(2, 2)), kinds.explored(FifoSequence(2), Free(2, 2))
SYSTEM = kinds.system_of(Rst(2), Free(2, 2))
A_RUN = kinds.searched("unordered", 2, 2)["fifo"].run

BITES: dict[str, tuple[Callable[[], Evidence], Callable[[], Evidence]]] = {
    "proved": (lambda: by_z3("", [POSITIVE]), lambda: by_z3("", [POSITIVE, NOT_NEGATIVE])),
    "about something": (
        lambda: by_z3("", [], possible=[{"x > 1": X > 1}]),
        lambda: by_z3("", [], possible=[{"x > 1": X > 1, "x < 1": X < 1}]),
    ),
    "needed": (
        lambda: by_z3("", [], refuted=[[POSITIVE, NOT_NEGATIVE]]),
        lambda: by_z3("", [], refuted=[[POSITIVE], [NOT_NEGATIVE]]),
    ),
    "keep": (lambda: kinds.keep(IN_ORDER, "fifo"), lambda: kinds.keep([IN_ORDER, REORDERS], "fifo")),
    "breaks": (lambda: kinds.breaks(REORDERS, "fifo", ""), lambda: kinds.breaks(IN_ORDER, "fifo", "")),
    "ends": (
        lambda: kinds.ends(kinds.ran("rendezvous", "mf-fig1"), "never"),
        lambda: kinds.ends(kinds.ran("buffer", "mf-fig1"), "never"),
    ),
    "generates": (
        lambda: kinds.generates("fifo-sequence", "fifo", (2, 3)),
        lambda: kinds.generates("fifo-sequence", "synchronous", (2, 3)),
    ),
    "in every state": (
        lambda: kinds.in_every_state("", SYSTEM, lambda now: now.depth <= 4),
        lambda: kinds.in_every_state("", SYSTEM, lambda now: now.depth <= 3),
    ),
    "in every state of some": (
        lambda: kinds.in_every_state("", SYSTEM, lambda now: not now.moves, where=lambda now: now.depth == 4),
        lambda: kinds.in_every_state("", SYSTEM, lambda now: True, where=lambda now: now.depth == 5),
    ),
    "in some state": (
        lambda: kinds.in_some_state("", SYSTEM, lambda now: now.depth == 4),
        lambda: kinds.in_some_state("", SYSTEM, lambda now: now.depth == 5),
    ),
    "enumerated": (
        lambda: kinds.enumerated("", range(5), lambda k: k < 5),
        lambda: kinds.enumerated("", range(6), lambda k: k < 5),
    ),
    "enumerated of some": (
        lambda: kinds.enumerated("", range(5), lambda k: k < 1, where=lambda k: k < 1),
        lambda: kinds.enumerated("", range(5), lambda k: True, where=lambda k: k > 5),
    ),
    "found": (lambda: found("", A_RUN), lambda: found("", None)),
    "none found": (lambda: none_found("", None, ""), lambda: none_found("", A_RUN, "")),
}


@pytest.mark.parametrize("kind", BITES)
def test_each_kind_of_evidence_can_fail(kind: str) -> None:
    shows, fails = BITES[kind]
    assert shows().shows
    assert not fails().shows


@pytest.mark.parametrize("kind", ["keep", "in every state", "none found"])
def test_what_fails_is_shown(kind: str) -> None:
    (shown,) = BITES[kind][1]().shown
    assert isinstance(shown.what, Run)


# -- faults ------------------------------------------------------------------------------------------------------------


def without(given: Callable[..., dict[str, Any]], *dropped: str) -> Callable[..., dict[str, Any]]:
    """The hypotheses without some of them."""
    return lambda *arguments: {name: term for name, term in given(*arguments).items() if name not in dropped}


def lacking(claim: Callable[[], Claim], dropped: str) -> Callable[[], Claim]:
    original = claim()
    return lambda: original._replace(given=without(lambda: dict(original.given), dropped)())


def of_variant(claims: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """The claims, of this variant whatever is asked for."""
    return lambda *anything: claims(kind)


def nothing(*arguments: Any) -> dict[str, Any]:
    return {}


def contradiction(*arguments: Any) -> dict[str, Any]:
    return {"never": z3.BoolVal(False)}


def always(self: Any, *anything: Any) -> Any:
    return self.ops.all_of()


def _later_pairs(self: SesMulticast, buffer: Any, dest: Any, time: Any) -> Any:
    return self.ops.matrix(
        lambda l, k: buffer[l][k] * (1 - self.ops.indicator(l, dest)) + (time[k] + 1) * self.ops.indicator(l, dest)
    )


def _older_pairs_discarded(self: Any, buffer: Any, j: int, dest: Any, time: Any) -> Any:
    pairs = SesMulticast.accompanying(self, buffer, j, dest, time)
    return pair_variants.Accompanying(pairs, self.ops.matrix(lambda l, k: 0))


def _pairs_for_all(self: Any, buffer: Any, j: int, dest: Any, time: Any) -> Any:
    return pair_variants.Accompanying(buffer, self.ops.matrix(lambda l, k: time[k] * self.ops.indicator(l, dest)))


def _deletes_always(self: SesDelete, i: Any, state: Any, j: Any, stamp: Any) -> Any:
    merged = Ses.after_delivering(self, i, state, j, stamp)
    return merged._replace(buffer=self.ops.matrix(lambda l, k: merged.buffer[l][k] * (1 - self.ops.one_if(l == j))))


def _no_pairs(self: SesMulticast, buffer: Any, dest: Any, time: Any) -> Any:
    return buffer


def _commits_later(
    self: Any, i: int, state: Any, packet: Any, original: Any = fig_8_variants.ReceiversAsk.on_packet
) -> Any:
    """A receive is not committed on arrival."""
    steps = original(self, i, state, packet)
    return [step._replace(events=[event for event in step.events if event.kind == "send"]) for step in steps]


def _by_the_sender(*, by_receiver: bool = False, original: Any = constraints.number_claim, **sorts: Any) -> Any:
    return original(by_receiver=False, **sorts)


def _fifo_for_mailbox(c: Any, order: str) -> Any:
    return decide(c, "fifo" if order == "mailbox" else order)


def _delivers_without_the_past(self: VectorTimeRun, original: Any = VectorTimeRun.delivering) -> Any:
    """Who delivers a message knows of nothing that its sender knew."""
    step = original(self)
    return step._replace(after=replace(step.after, knows=self.before.knows))


def _any_entry(self: Any, i: int, state: Any, crashed: int) -> int | None:
    return min((entry for packet in state.waiting if (entry := packet.stamp.buffer[i][crashed])), default=None)


def _one_place(self: Any, i: int, state: Any, packet: Packet) -> bool:
    return packet.kind == "ack" or not state.input


def _acknowledges_by_matrix(self: Any, i: int, packet: Packet) -> list[Packet]:
    return [Packet(i, packet.source, "ack", None, (0,) * self.n**2)]


def _entries_of_any_messages(original: Any = constraints.unmet_claim, **sorts: Any) -> Claim:
    claim: Claim = original(**sorts)
    return claim._replace(given=without(lambda: dict(claim.given), "a stamp's entries happened before")())


def _sends_later(self: FifoSequence, i: int, state: Any, message: Any, original: Any = FifoSequence.send) -> Any:
    return [step._replace(events=()) for step in original(self, i, state, message)]


def _fifo_is_causal(c: Any, order: str) -> bool:
    return keeps_by_search(c, "causal" if order == "fifo" else order)


def _answers_at_once(self: Any, i: int, state: Any, j: int) -> Any:
    """A process that waits for an answer commits a send."""
    return self.answer(i, state, j)


FEWER_RECEIVES = {
    name: lacking(impossible_protocols.bounded_receives_claim, name)
    for name in ("bounded receives", "decided by the view")
}
LATE_PACKETS = lacking(impossible_protocols.bounded_sends_claim, "the packets take longer")
WATCHED = monitored_machines.MonitoredAcknowledgements
TO_ANY_PROCESS = variant(MurtyGarg, must_request=lambda self, i, j: False)
ASKS, LINKS, CROWN = fig_8_variants.ReceiversAsk, synchronous.Links, conditions.AnyCrown
IN_TIME, TWO = synchronous.InTime, impossible_protocols.TwoProcesses
IMPOSSIBLE = impossible_protocols
UNORDERED_POSTS = of_variant(buffer_lemmas.in_time, claim_buffers.PostsWithoutWaiting)
UNORDERED_GETS = of_variant(buffer_lemmas.in_time, claim_buffers.DeliversInAnyOrder)
COMMITS_LATER = of_variant(fig_8.commit_claims, fig_8.CommitsOnAcknowledgement)
CLEARS_ALL, NO_TICK = matrices.ClearsTheWholeColumn.after_sending, pair_variants.DeliveriesDoNotTick.time_after
FORGETS, LEARNS_NOTHING = matrices.ForgetsWhatItHad.after_delivering, matrices.LearnsNothing.after_delivering


def _with_own_column(original: Callable[[], list[Claim]] = few_entries.pigeonhole_claims) -> list[Claim]:
    return [claim.without("the own column is zero") for claim in original()]


#: Machines that no proof of a protocol is about.
VARIANTS = (ASKS, WATCHED, fig_8_variants.PlacedAfterwards, pair_variants.PairsBesides)

#: The claim, the fault, where it is planted, and what takes whose place.
FAULTS: list[tuple[str, str, Any, str, Any]] = [
    ("MF1", "another theorem", synchronous, "inclusion", synchronous.converse),
    ("MF2", "times need not grow", IN_TIME, "sync", without(IN_TIME.sync, "SYNC: T grows along ≺")),
    ("MF2", "FIFO is causal, by search", mf, "keeps", _fifo_is_causal),
    ("MF9", "posts without waiting", Buffer, "may_post", lambda self, state: True),
    ("MF10", "posts without waiting, the stages", buffer_lemmas, "in_time", UNORDERED_POSTS),
    ("MF11", "delivers in any order, the stages", buffer_lemmas, "in_time", UNORDERED_GETS),
    ("MF12", "posts without waiting", Buffer, "may_post", lambda self, state: True),
    ("SES5", "nothing is late", LamportClock, "is_stale", lambda self, time, now: False),
    ("SES6", "deliveries do not tick", Ses, "time_after", NO_TICK),
    ("SES8", "nothing ticks", Ses, "after_event", pair_variants.NothingTicks.after_event),
    ("SES9", "pairs are ahead", SesMulticast, "with_pairs", _later_pairs),
    ("SES10", "a pair for oneself", Ses, "merged", lambda self, i, buffer, carried: self.ops.maximum(buffer, carried)),
    ("SES10", "older pairs are discarded", pair_variants.PairsBesides, "accompanying", _older_pairs_discarded),
    ("SES10", "a pair for where the message goes", pair_variants.PairsBesides, "accompanying", _pairs_for_all),
    ("SES12", "pairs are not merged", pair_variants.PairsBesides, "merged", pair_variants.DropsPairsBesides.merged),
    ("SES12", "the sender enters none", SesMulticast, "with_pairs", _no_pairs),
    ("SES14", "deletes always", SesDelete, "after_delivering", _deletes_always),
    ("SES15", "waits for nothing", Ses, "deliverable", always),
    ("SES19", "total order is FIFO order", ses, "decide", _fifo_for_mailbox),
    ("SES20", "sends do not tick", Ses, "after_event", pair_variants.NothingTicks.after_event),
    ("SES21", "pairs are not merged", Ses, "merged", lambda self, i, buffer, carried: buffer),
    ("SES22", "pairs are not merged", Ses, "merged", lambda self, i, buffer, carried: buffer),
    ("SES23", "deliveries do not tell of the past", VectorTimeRun, "delivering", _delivers_without_the_past),
    ("SES24", "waits for nothing", Ses, "deliverable", always),
    ("SES25", "posts without waiting", Buffer, "may_post", lambda self, state: True),
    ("SES25", "never gives up the dead", buffers.GivesUpTheDead, "agree", lambda self, states, crashed: None),
    ("SES26", "every pair is evidence", SesRollback, "minimum", _any_entry),
    ("SES27", "sends do not tick", Ses, "after_event", pair_variants.NothingTicks.after_event),
    ("SES19", "the order need not extend →", total_order.TotallyOrdered, "extends", lambda self: z3.BoolVal(True)),
    ("SES27", "time says nothing of what is known", waiting_messages, "BY", waiting_messages.BY[1:]),
    ("SES28", "waits for nothing", Ses, "deliverable", always),
    ("MF21", "posts without waiting", Buffer, "may_post", lambda self, state: True),
    ("MF21", "of the order of gets nothing is known", buffer_reach.Reached, "lemmas", nothing),
    ("MF26", "posts on to no receiver", BufferPipelined, "may_post_on", lambda self, state, message: False),
    ("MF27", "one place in input buffers", BufferBounded, "deliverable", _one_place),
    ("MF28", "acknowledgements carry a matrix", Buffer, "acknowledgement", _acknowledges_by_matrix),
    ("MF28", "posts without waiting", Buffer, "may_post", lambda self, state: True),
    ("MF29", "≺ leaves out posts and acknowledgements", mf_remarks.EventsOfASite, "through", ()),
    ("MF29", "≺ goes through acknowledgements", mf_remarks.ThroughMessages, "through", ("ack",)),
    ("MF30", "a blocked sender piggybacks something", mf_remarks, "_count_nothing", lambda stamp: 1),
    ("MF31", "§3.2 for §3.1", mf_remarks, "AT_ONCE", mf_remarks.IF_IT_MAY_GO),
    ("MG1", "messages need not be vertical", IN_TIME, "sync", without(IN_TIME.sync, "SYNC: T(s) = T(r)")),
    ("MG2", "happened-before is anything", IN_TIME, "leads_in_time", nothing),
    ("MG2", "sync is never", IN_TIME, "sync", contradiction),
    ("MG3", "≺ is not within →", IN_TIME, "contained", nothing),
    ("MG4", "not symmetric", TWO, "symmetric", without(TWO.symmetric, "both step alike")),
    ("MG4", "what is symmetric contradicts itself", TWO, "symmetric", contradiction),
    ("MG5", "Fig. 8 as it is", impossibilities, "AcknowledgesAtOnce", MurtyGarg),
    ("MG5", "unbounded", IMPOSSIBLE, "bounded_receives_claim", FEWER_RECEIVES["bounded receives"]),
    ("MG5", "decided by chance", IMPOSSIBLE, "bounded_receives_claim", FEWER_RECEIVES["decided by the view"]),
    ("MG5", "places out of time", fig_8_variants.PlacedAfterwards, "in_time", staticmethod(lambda state: False)),
    ("MG5", "a process that waits for an answer commits a send", ASKS, "polled", _answers_at_once),
    ("MG5", "two that poll each other wait for ever", ASKS, "keeps_waiting", lambda self, i, j: True),
    ("MG5", "two that poll each other send each other away", ASKS, "keeps_waiting", lambda self, i, j: False),
    ("MG5", "a receive is not committed on arrival", ASKS, "on_packet", _commits_later),
    ("MG5", "receivers do not ask", ASKS, "internal", lambda self, i, state: []),
    ("MG6", "Fig. 8 as it is", impossibilities, "SendsAtOnce", MurtyGarg),
    ("MG6", "packets in time", IMPOSSIBLE, "bounded_sends_claim", LATE_PACKETS),
    ("MG7", "sends to any process", fig_8, "commit_claims", of_variant(fig_8.commit_claims, fig_8.SendsToAnybody)),
    ("MG7", "commits when it asks", fig_8, "commit_claims", of_variant(fig_8.commit_claims, fig_8.CommitsWhenItAsks)),
    ("MG7", "commits on acknowledgement", fig_8, "commit_claims", COMMITS_LATER),
    ("MG9", "acknowledges while passive", WATCHED, "kind", fig_8_variants.AcknowledgesAtOnce),
    ("MG10", "chains as printed", Split, "chain_leads", Split.maps_to_as_printed),
    ("MG11", "without SC", conditions.AnySplit, "send_condition", lambda self: z3.BoolVal(True)),
    ("MG12", "without RC", conditions.AnySplit, "receive_condition", lambda self: z3.BoolVal(True)),
    ("MG13", "no crown of two", CROWN, "of_two_messages", nothing),
    ("MG13", "nothing is left out", CROWN, "of_three_messages", nothing),
    ("MG13", "the step is of nothing", CROWN, "of_three_messages", contradiction),
    ("MG13", "another message is left out", CROWN, "none_with_one_less", lambda self, link: z3.BoolVal(True)),
    ("MG14", "no ranks", CROWN, "of_ranks", nothing),
    ("MG14", "ranks contradict each other", CROWN, "of_ranks", contradiction),
    ("MG14", "RC for RC⁺", Split, "strong_receive_condition", lambda split: True),
    ("MG14", "messages go up", WATCHED, "kind", TO_ANY_PROCESS),
    ("MG15", "SP says nothing", LINKS, "send_protocol", lambda self: z3.BoolVal(True)),
    ("MG15", "RP says nothing", LINKS, "receive_protocol", lambda self: z3.BoolVal(True)),
    ("MG15", "RP is never kept", LINKS, "receive_protocol", lambda self: z3.BoolVal(False)),
    ("MG15", "no induction", LINKS, "no_smaller_cycle", nothing),
    ("MG15", "no lemmas", LINKS, "links_are_in_time", nothing),
    ("MG16", "the formulas have them sent", fig_8, "NeverAcknowledges", fig_8_variants.ByTheLetterWithRanks),
    ("MG17", "commits as in Fig. 8", fig_8, "CommitsAtAcknowledgement", MurtyGarg),
    ("MG17", "sends as in Fig. 8", fig_8, "SendsWhenWanted", MurtyGarg),
    ("MG18", "asks no process", MurtyGarg, "must_request", lambda self, i, j: True),
    ("MG22", "messages need not be vertical", IN_TIME, "sync", without(IN_TIME.sync, "SYNC: T(s) = T(r)")),
    ("MG22", "internal events count", IN_TIME, "only_messages", nothing),
    ("MG23", "waits for nothing", FifoSequence, "deliverable", always),
    ("MG23", "commits no send", FifoSequence, "send", _sends_later),
    ("MG24", "↦ as printed is wide enough", Split, "maps_to_as_printed", Split.maps_to),
    ("MG24", "→_ℰ is →", Split, "leads_within_own_as_printed", Split.leads),
    ("MG24", "the same event is left out", Split, "leads_within_own", Split.leads_within_own_as_printed),
    ("MG24", "→_ℰ goes through control messages", Split, "leads_within_own", Split.leads),
    ("MG25", "↦ as printed is wide enough", Split, "maps_to_as_printed", Split.maps_to),
    ("MG25", "chains as printed", conditions.AnySplit, "maps_to", conditions.AnySplit.maps_to_as_printed),
    ("KU2", "waits for nothing", Rst, "deliverable", always),
    ("SA1", "asks for nothing", ExtraMessages, "satisfied", always),
    ("SA4", "clears all", ExtraMessages, "after_sending", CLEARS_ALL),
    ("SA5", "waits for nothing", ExtraMessages, "satisfied", always),
    ("SA6", "clears nothing", ExtraMessages, "clearings", lambda self, i, state: [(state, ())]),
    ("SA8", "clears all", ExtraMessages, "after_sending", CLEARS_ALL),
    ("SA8", "forgets what it had", ExtraMessages, "after_delivering", FORGETS),
    ("SA9", "learns nothing", ExtraMessages, "after_delivering", LEARNS_NOTHING),
    ("SA14", "clears nothing", ExtraMessages, "clearings", lambda self, i, state: [(state, ())]),
    ("SA14", "clears all", ExtraMessages, "after_sending", CLEARS_ALL),
    ("SA15", "the own column may have entries", few_entries, "pigeonhole_claims", _with_own_column),
    ("SA18", "the receiver does not count", Rst, "after_delivering", matrices.CountsOnce.after_delivering),
    ("SA15", "clears nothing", ExtraMessages, "clearings", lambda self, i, state: [(state, ())]),
    ("SA16", "waits for nothing", ExtraMessages, "satisfied", always),
    ("SA17", "waits for nothing", ExtraMessages, "satisfied", always),
    ("SA17", "entries are any messages", constraints, "unmet_claim", _entries_of_any_messages),
    ("SA11", "the sender's DELIV", constraints, "number_claim", _by_the_sender),
]  # fmt: skip


#: The claims whose evidence takes longest to recompute.
LONG = {
    *("MF10", "MF11", "MF21", "MF27", "MF29"), *("MG5", "MG6", "MG9", "MG14"),
    *("SA4", "SA5", "SA6", "SA8", "SA9", "SA14", "SA15", "SA17"), *("SES9", "SES10", "SES12", "SES25"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "owner", "attribute", "fault"),
    [
        pytest.param(name, owner, attribute, fault, id=f"{name}: {said}", marks=[pytest.mark.slow] * (name in LONG))
        for name, said, owner, attribute, fault in FAULTS
    ],
)
def test_a_planted_fault_changes_the_verdict(
    name: str, owner: Any, attribute: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_protocol = isinstance(owner, type) and issubclass(owner, ProtocolMachine) and owner not in VARIANTS
    with forgetting(proofs=of_a_protocol), monkeypatch.context() as planted:
        planted.setattr(owner, attribute, fault)
        assert finding_of(name).judged != CLAIMS[name].judged


@pytest.mark.usefixtures("_nothing_remembered")
def test_a_message_that_is_never_got_is_shown_and_leaves_mf13_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "may_post", lambda self, state: False)
    finding = finding_of("MF13")
    assert finding.verdict == "open"
    shown = [shown.what for shown in finding.evidence.shown if shown.title == "a message is not got"]
    assert [[action.action for action in run.actions] for run in shown if isinstance(run, Run)] == [["send"]]


def test_a_repair_of_mf5_that_breaks_leaves_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers.KearnsInTurn, "deliverable", Kearns.deliverable)
    finding = finding_of("MF5")
    assert [reading.verdict for reading in finding.readings] == ["refuted", "checked", "open"]
    assert finding.verdict == "open"


@pytest.mark.usefixtures("_nothing_remembered")
def test_that_the_second_increment_is_needless_is_seen_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second increment the maximum is left out, too."""

    def loses_what_it_skips(self: Rst, i: int, state: Any, j: int, stamp: Any) -> Any:
        return state._replace(deliv=self.deliv_after(state, j))

    change = matrices.Change("after_delivering", "saves", loses_what_it_skips)
    monkeypatch.setitem(matrices.CHANGES, "no second increment of SENT", change)
    assert [reading.verdict for reading in finding_of("KU9").readings] == ["open", "open"]


# -- what is counted, and what z3 is asked -----------------------------------------------------------------------------


def test_hypotheses_of_the_constraints_are_needed() -> None:
    last = [constraints.clearing_claims()[-2], constraints.clearing_claims()[-1], constraints.delivery_claims()[-1]]
    for claim in [*last, constraints.number_claim(), constraints.unmet_claim()]:
        assert not any(without_each(*claim).values())


def _cubes() -> Any:
    """A contradiction that z3 does not find: two cubes make a third."""
    x, y, z = z3.Ints("x y z")
    return z3.And(x > 0, y > 0, z > 0, x * x * x + y * y * y == z * z * z)


@pytest.mark.usefixtures("_nothing_remembered")
@pytest.mark.parametrize("never", [z3.BoolVal(False), _cubes()], ids=["seen", "not seen by z3"])
@pytest.mark.parametrize("shown", [sa.clearing_is_safe, sa.delivery_strengthens])
def test_what_is_shown_of_sends_that_cannot_be_is_not_shown(
    shown: Callable[[], Evidence], never: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages of both kinds are sent only where the contradiction holds."""
    original = WithExtraMessages._sendings

    def sendings(self: WithExtraMessages) -> list[Event]:
        return [event._replace(given={**event.given, "never": never}) for event in original(self)]

    monkeypatch.setattr(WithExtraMessages, "_sendings", sendings)
    assert not shown().shows
