"""Evidence that can fail: a fault is planted in what a claim is about, and the claim no longer has its verdict.

Each fault is planted in the class itself, or in the definition that a proof is about, so that searches, proofs and
comparisons all see it. What was found before is forgotten meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
import z3
from faults_in_evidence import Plant, finding_of, finding_with, forget, in_place_of

from crownless.impl.buffer import Buffer
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.kearns import Kearns
from crownless.impl.protocol import Step
from crownless.impl.rst import Rst
from crownless.impl.ses import Ses
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.model_check.runs import Run
from crownless.proofs import buffer_lemmas, causal_implies_fifo, proving
from crownless.proofs import extra_messages_constraints as constraints
from crownless.proofs.any_run import Event
from crownless.proofs.claims import (
    buffer_evidence,
    bundled,
    matrix_evidence,
    mf,
    multicast_pairs,
    pigeonhole,
    sa,
    synchronous_theorems,
)
from crownless.proofs.claims import proof_evidence as put_to_z3
from crownless.proofs.claims.ledger import CLAIMS
from crownless.proofs.claims.matrix_evidence import AttachesOneColumn, Change, ClearsTheWholeColumn
from crownless.proofs.claims.multicast_pairs import Accompanying
from crownless.proofs.extra_messages import WithExtraMessages
from crownless.proofs.theorem import EFFORT, Verdict, theorem, without_each
from crownless.spec import by_search, orders
from crownless.spec.clocks import VectorClock
from crownless.spec.computation import Message

#: Steps of z3 in which what is right is proved (`test_proofs_of_causal_order.py`), at some seed. What a fault breaks is
#: not proved in any number of them.
FEW, SEEDS = 200_000, 6


def in_a_few_steps(name: str, given: Any, shows: Any, effort: int = EFFORT, attempts: int = 1) -> Verdict:
    """What is to be refuted, such as that the hypotheses contradict each other, takes as many as it takes."""
    if z3.is_false(shows):
        return theorem(name, given, shows, effort, attempts)
    return theorem(name, given, shows, min(effort, FEW), max(attempts, SEEDS))


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    forget()
    with patch.object(proving, "theorem", in_a_few_steps):
        yield
    forget()


def _fifo_never_kept(original: Any) -> Any:
    class Broken:
        kept = False

    return lambda c, order, *reading: (
        Broken if order == "fifo" and len(c.messages) > 1 else original(c, order, *reading)
    )


def _in_place_of_order(order: str, other: str, original: Any) -> Any:
    """A decider that takes one order for another."""
    return lambda c, name, *reading: original(c, other if name == order else name, *reading)


def _youngest_first(self: Buffer, i: int, state: Any, sender: int | None, original: Any = Buffer.receive) -> Any:
    return original(self, i, state._replace(input=state.input[::-1]), sender)


def _deliveries_do_not_tick(self: VectorClock, time: Any, p: int, stamp: Any) -> Any:
    return tuple(map(max, time, stamp))


def _times_are_equal_only(original: Any = synchronous_theorems.sync) -> Any:
    return {name: term for name, term in original().items() if name != "SYNC: T grows along ≺"}


def _later_pairs(self: SesMulticast, buffer: Any, dest: Any, time: Any) -> Any:
    return self.ops.matrix(
        lambda l, k: buffer[l][k] * (1 - self.ops.indicator(l, dest)) + (time[k] + 1) * self.ops.indicator(l, dest)
    )


def _keeps_its_own_pair(self: Ses, i: Any, buffer: Any, carried: Any) -> Any:
    return self.ops.matrix(lambda l, k: self.ops.maximum(buffer[l][k], carried[l][k]))


def _older_pairs_discarded(self: Any, buffer: Any, j: int, dest: Any, time: Any) -> Any:
    return Accompanying(SesMulticast.accompanying(self, buffer, j, dest, time), self.ops.matrix(lambda l, k: 0))


def _pairs_for_all(self: Any, buffer: Any, j: int, dest: Any, time: Any) -> Any:
    return Accompanying(buffer, self.ops.matrix(lambda l, k: time[k] * self.ops.indicator(l, dest)))


def _pairs_are_counted_twice(buffer: Any, original: Callable[[Any], int] = multicast_pairs.pairs_in) -> int:
    return original(buffer) * (1 if isinstance(buffer, Accompanying) else 2)


def _deletes_always(self: SesDelete, i: Any, state: Any, j: Any, stamp: Any) -> Any:
    merged = Ses.after_delivering(self, i, state, j, stamp)
    return merged._replace(buffer=self.ops.matrix(lambda l, k: merged.buffer[l][k] * (1 - self.ops.one_if(l == j))))


def _attaches_one_column(
    self: ExtraMessages, i: int, state: Any, message: Any, original: Any = ExtraMessages.send
) -> Any:
    column = self.column(state, message.receiver)

    def with_column(step: Step) -> Step:
        return step._replace(packets=[step.packets[0]._replace(stamp=column), *step.packets[1:]])

    return [with_column(step) for step in original(self, i, state, message)]


def _counts_twice(self: ExtraMessages, state: Any, j: Any) -> Any:
    return state._replace(deliv=self.ops.incremented(self.ops.incremented(state.deliv, j), j))


def _by_the_sender(*, by_receiver: bool = False, original: Any = constraints.number_claim, **sorts: Any) -> Any:
    return original(by_receiver=False, **sorts)


def _enters_no_pairs(self: SesMulticast, i: int, state: Any, message: Any, original: Any = SesMulticast.send) -> Any:
    return [step._replace(state=step.state._replace(buffer=state.buffer)) for step in original(self, i, state, message)]


def _posts_without_waiting(self: Any, original: Any = buffer_lemmas.BuffersInTime.posting) -> Any:
    return original(self)._replace(given={"m is the oldest in i's output buffer": self.first_out()})


def _delivers_in_any_order(self: Any, original: Any = buffer_lemmas.BuffersInTime.delivering) -> Any:
    in_buffer = self.in_input(self.before, self.i, self.m)
    return original(self)._replace(given={"m is in i's input buffer": in_buffer})


def _always(self: Any, *anything: Any) -> Any:
    return self.ops.all_of()


def _with_the_own_column(original: Any = pigeonhole.pigeonhole) -> Any:
    start, step, end = original()
    given = {name: term for name, term in step.given.items() if name != "the own column is empty"}
    return [start, step._replace(given=given), end]


def _keeps_the_column(self: ExtraMessages, i: Any, state: Any, j: Any) -> Any:
    return state._replace(matrix=self.ops.incremented(state.matrix, i, j))


FAULTS: list[tuple[str, str, Plant]] = [
    ("MF1", "decide", in_place_of(mf, "decide", _fifo_never_kept(orders.decide))),
    ("MF1", "another theorem", in_place_of(causal_implies_fifo, "inclusion", causal_implies_fifo.converse)),
    (
        "MF2",
        "synchronous is causal",
        in_place_of(mf, "decide", _in_place_of_order("synchronous", "causal", orders.decide)),
    ),
    (
        "MF2",
        "FIFO is causal, by search",
        in_place_of(mf, "keeps", _in_place_of_order("fifo", "causal", by_search.keeps)),
    ),
    ("MF2", "fifo", in_place_of(mf, "decide", _fifo_never_kept(orders.decide))),
    ("MF2", "another theorem", in_place_of(causal_implies_fifo, "inclusion", causal_implies_fifo.converse)),
    ("MF2", "times need not grow", in_place_of(synchronous_theorems, "sync", _times_are_equal_only)),
    ("MF9", "posts without waiting", in_place_of(Buffer, "may_post", lambda self, state: True)),
    ("MF10", "posts without waiting", in_place_of(Buffer, "may_post", lambda self, state: True)),
    ("MF11", "youngest first", in_place_of(Buffer, "receive", _youngest_first)),
    (
        "MF9",
        "the abstraction posts without waiting",
        in_place_of(buffer_lemmas.BuffersInTime, "posting", _posts_without_waiting),
    ),
    (
        "MF11",
        "the abstraction delivers in any order",
        in_place_of(buffer_lemmas.BuffersInTime, "delivering", _delivers_in_any_order),
    ),
    ("MF12", "posts without waiting", in_place_of(Buffer, "may_post", lambda self, state: True)),
    ("SES6", "deliveries do not tick", in_place_of(VectorClock, "after_receiving", _deliveries_do_not_tick)),
    ("SES7", "deliveries do not tick", in_place_of(VectorClock, "after_receiving", _deliveries_do_not_tick)),
    ("SES6", "of terms alone", in_place_of(Ses, "time_after", put_to_z3.DeliveriesDoNotTick.time_after)),
    ("SES7", "of terms alone", in_place_of(Ses, "time_after", put_to_z3.DeliveriesDoNotTick.time_after)),
    ("SES8", "nothing ticks", in_place_of(Ses, "after_event", put_to_z3.NothingTicks.after_event)),
    ("SES8", "sends do not tick", in_place_of(VectorClock, "after_event", lambda self, time, p: time)),
    ("SES9", "pairs are ahead", in_place_of(SesMulticast, "with_pairs", _later_pairs)),
    ("SES10", "a pair for oneself", in_place_of(Ses, "merged", _keeps_its_own_pair)),
    (
        "SES10",
        "older pairs are discarded",
        in_place_of(multicast_pairs.PairsBesides, "accompanying", _older_pairs_discarded),
    ),
    (
        "SES10",
        "a pair for where the message goes",
        in_place_of(multicast_pairs.PairsBesides, "accompanying", _pairs_for_all),
    ),
    ("SES10", "a site keeps the pairs besides", in_place_of(multicast_pairs, "pairs_in", _pairs_are_counted_twice)),
    (
        "SES12",
        "pairs are not merged",
        in_place_of(multicast_pairs.PairsBesides, "merged", multicast_pairs.DropsPairsBesides.merged),
    ),
    ("SES12", "the sender enters none", in_place_of(SesMulticast, "send", _enters_no_pairs)),
    ("SES14", "deletes always", in_place_of(SesDelete, "after_delivering", _deletes_always)),
    ("SES15", "waits for nothing", in_place_of(Ses, "deliverable", _always)),
    ("KU2", "waits for nothing", in_place_of(Rst, "deliverable", _always)),
    ("SA1", "asks for nothing", in_place_of(ExtraMessages, "satisfied", _always)),
    ("SA4", "clears all", in_place_of(ExtraMessages, "after_sending", ClearsTheWholeColumn.after_sending)),
    ("SA5", "waits for nothing", in_place_of(ExtraMessages, "satisfied", _always)),
    ("SA6", "clears nothing", in_place_of(ExtraMessages, "clearings", lambda self, i, state: [(state, ())])),
    ("SA6", "own column", in_place_of(pigeonhole, "pigeonhole", _with_the_own_column)),
    ("SA8", "clears all", in_place_of(ExtraMessages, "after_sending", ClearsTheWholeColumn.after_sending)),
    (
        "SA8",
        "learns nothing",
        in_place_of(ExtraMessages, "after_delivering", put_to_z3.ForgetsWhatItHad.after_delivering),
    ),
    ("SA9", "one column", in_place_of(ExtraMessages, "send", _attaches_one_column)),
    ("SA9", "learns nothing", in_place_of(ExtraMessages, "after_delivering", put_to_z3.LearnsNothing.after_delivering)),
    ("SA11", "counts twice", in_place_of(ExtraMessages, "after_extra", _counts_twice)),
    ("SA11", "the sender's DELIV", in_place_of(constraints, "number_claim", _by_the_sender)),
]


@pytest.mark.parametrize(
    ("name", "fault"), [(name, fault) for name, _, fault in FAULTS], ids=[f"{n}: {w}" for n, w, _ in FAULTS]
)
def test_a_planted_fault_changes_the_verdict(name: str, fault: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding_with(fault, name, monkeypatch).verdict != CLAIMS[name].recorded


def test_a_message_that_is_never_got_is_shown_and_leaves_mf13_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Buffer, "may_post", lambda self, state: False)
    finding = finding_of("MF13")
    assert finding.verdict == "open"
    (shown,) = finding.evidence.shown
    assert isinstance(shown.what, Run)
    assert [action.action for action in shown.what.actions] == ["send"]


def test_a_repair_of_mf5_that_breaks_leaves_it_open_by_each_of_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer_evidence.KearnsInTurn, "deliverable", Kearns.deliverable)
    finding = finding_of("MF5")
    assert [reading.verdict for reading in finding.readings] == ["refuted", "checked", "open"]
    assert finding.verdict == "open"


def test_more_than_n_pairs_need_two_multicasts_of_four_sites_and_nothing_less_is_enough() -> None:
    letter = multicast_pairs.count_pairs(multicast_pairs.PairsBesides, 4, 2)
    assert (letter.kept, letter.carried) == (3, 5)
    assert letter.too_many is not None
    assert [action.to for action in letter.too_many.actions] == [("P2", "P3", "P4")] * 2
    for n, messages in ((4, 1), (3, 3), (2, 4)):
        assert multicast_pairs.count_pairs(multicast_pairs.PairsBesides, n, messages).too_many is None
    assert multicast_pairs.count_pairs(SesMulticast, 3, 3).too_many is None


def test_the_bundled_run_of_ses10_has_a_packet_with_more_pairs_than_sites() -> None:
    run = bundled.run("counterexample-ses10")
    machine = multicast_pairs.PairsBesides(len(run.processes))
    state = machine.initial(0)
    for name in ("m1", "m2"):
        (step,) = machine.send(0, state, Message(name, 0, tuple(range(1, machine.n))))
        state = step.state
    assert [action.say() for action in run.actions] == [f"P1: send {name} to P2, P3, P4" for name in ("m1", "m2")]
    assert {multicast_pairs.pairs_in(packet.stamp.buffer) for packet in step.packets} == {machine.n + 1}
    assert multicast_pairs.pairs_in(state.buffer) == machine.n - 1


def test_no_message_is_accompanied_by_two_pairs_for_where_it_goes_which_is_what_the_text_says_of_arrival() -> None:
    assert multicast_pairs.count_pairs(multicast_pairs.PairsBesides, 3, 3).for_receiver == 1


def test_that_the_second_increment_is_needless_is_seen_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second increment the maximum is left out, too."""

    def loses_what_it_skips(self: Rst, i: int, state: Any, j: int, stamp: Any) -> Any:
        return state._replace(deliv=self.deliv_after(state, j))

    change = Change("after_delivering", "saves", loses_what_it_skips)
    monkeypatch.setitem(matrix_evidence.CHANGES, "no second increment of SENT", change)
    assert [reading.verdict for reading in finding_of("KU9").readings] == ["open", "open"]


def test_hypotheses_of_the_constraints_are_needed() -> None:
    last = [constraints.clearing_claims()[-2], constraints.clearing_claims()[-1], constraints.delivery_claims()[-1]]
    for claim in [*last, constraints.number_claim()]:
        assert not any(without_each(*claim).values())


def test_lemma_3_needs_that_messages_wait_for_what_they_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    assert put_to_z3.delivery_strengthens()
    forget()
    monkeypatch.setattr(ExtraMessages, "satisfied", _always)
    assert not put_to_z3.delivery_strengthens()


def _cubes() -> Any:
    """A contradiction that z3 does not find: two cubes make a third."""
    x, y, z = z3.Ints("x y z")
    return z3.And(x > 0, y > 0, z > 0, x * x * x + y * y * y == z * z * z)


def _sends_under(contradiction: Any, original: Any = WithExtraMessages._sendings) -> Any:
    """Messages of both kinds are sent only where the contradiction holds: what is shown of that is shown of nothing."""

    def sendings(self: WithExtraMessages) -> list[Event]:
        return [event._replace(given={**event.given, "never": contradiction}) for event in original(self)]

    return sendings


@pytest.mark.parametrize("contradiction", [z3.BoolVal(False), _cubes()], ids=["seen", "not seen by z3"])
@pytest.mark.parametrize("shown", [put_to_z3.clearing_is_safe, put_to_z3.delivery_strengthens])
def test_what_is_shown_of_sends_that_cannot_be_is_not_shown(
    shown: Callable[[], bool], contradiction: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WithExtraMessages, "_sendings", _sends_under(contradiction))
    assert not shown()


@pytest.mark.parametrize(
    "claims_of",
    [
        constraints.clearing_claims,
        constraints.delivery_claims,
        lambda **sorts: [constraints.number_claim(**sorts)],
    ],
    ids=["clearing", "deliveries", "Proposition 5"],
)
def test_each_claim_about_constraints_has_a_situation_of_three_processes(claims_of: Any) -> None:
    for never in constraints.vacuity(claims_of):
        verdict = theorem(*never)
        assert verdict.outcome == "refuted"
        assert verdict.model is not None


@pytest.mark.parametrize("after_sending", [_keeps_the_column, ClearsTheWholeColumn.after_sending])
def test_clearing_does_not_go_on_if_the_update_leaves_the_column_or_nothing(
    after_sending: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pigeonhole.clearing_goes_on()
    forget()
    monkeypatch.setattr(ExtraMessages, "after_sending", after_sending)
    assert not pigeonhole.clearing_goes_on()


def test_a_message_that_carries_one_column_is_seen_by_the_first_half_of_lemma_3() -> None:
    assert sa._lemma_3(AttachesOneColumn, 3, sa.never(3), 3).sent_fails > 0
    assert sa._lemma_3(ExtraMessages, 3, sa.never(3), 3).sent_fails == 0


def test_mf24_is_felt_from_a_load_between_two_and_four_hundredths_on_and_rests_on_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finding = finding_of("MF24")
    assert "felt from load 0.04 on, and not up to 0.02" in finding.evidence.because
    assert finding.verdict == "measured"
    monkeypatch.setattr(mf, "CROSSING", 0.1)
    assert finding_of("MF24").verdict == "open"
