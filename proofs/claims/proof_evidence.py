"""Evidence by z3 for single claims, beyond the proofs of whole protocols.

Each needs that z3 has a model of its hypotheses, so that it is about something, and that z3 finds something against the
claim where the rule it rests on is left out: a proof that would go through all the same is none.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import z3

from crownless.impl.extra_messages import ExtraMessages, State
from crownless.impl.ops import Value
from crownless.impl.ses import Ses
from crownless.proofs import buffer_lemmas, causal_implies_fifo, vector_time
from crownless.proofs import extra_messages_constraints as constraints
from crownless.proofs.murty_garg import MURTY_GARG, Priorities
from crownless.proofs.queue_abstraction import StageEvent, fixed_by, symbolic
from crownless.proofs.theorem import Claim, without_each

from .evidence import all_proved, all_refuted, any_refuted, proved_by_its_rules
from .matrix_evidence import ClearsTheWholeColumn

# -- [MF] --------------------------------------------------------------------------------------------------------------


@cache
def fifo_follows_from_causal() -> bool:
    """By the definitions, and not conversely; causal order is needed for it."""
    policies: tuple[causal_implies_fifo.Unreceived, ...] = ("lost", "pending")
    inclusions = [causal_implies_fifo.inclusion(each) for each in policies]
    needed = [not verdict for claim in inclusions for verdict in without_each(*claim).values()]
    possible = all_refuted(claim._replace(shows=z3.BoolVal(False)) for claim in inclusions)
    converse = all_refuted(map(causal_implies_fifo.converse, policies))
    return all_proved(inclusions) and all(needed) and possible and converse


class PostsWithoutWaiting(buffer_lemmas.BuffersInTime):
    """An output buffer does not wait for acknowledgements."""

    def posting(self) -> StageEvent:
        event = super().posting()
        return event._replace(given={"m is the oldest in i's output buffer": self.first_out()})


class DeliversInAnyOrder(buffer_lemmas.BuffersInTime):
    """An input buffer is a set."""

    def delivering(self) -> StageEvent:
        event = super().delivering()
        return event._replace(given={"m is in i's input buffer": self.in_input(self.before, self.i, self.m)})


#: Which rule each lemma rests on.
LEFT_OUT: dict[str, type[buffer_lemmas.BuffersInTime]] = {
    "Lemma 2": PostsWithoutWaiting,
    "Lemma 3": PostsWithoutWaiting,
    "Lemma 4": DeliversInAnyOrder,
}


@cache
def _buffers_in_time() -> int:
    """How many claims z3 shows of the invariants that the lemmas rest on; 0 if not all, or if they are of nothing."""
    proof = buffer_lemmas.in_time()
    claims = proof.claims()["invariants"]
    return len(claims) if all_proved(claims) and all_refuted(proof.vacuity()) else 0


@cache
def buffer_lemma(name: str) -> int:
    """How many claims z3 shows for a lemma of [MF] §3.3; 0 if not all, or if its rule is not needed."""
    (lemma,) = buffer_lemmas.in_time().claims()[name]
    variant = LEFT_OUT[name]
    changed = "deliver" if variant is DeliversInAnyOrder else "post"
    weaker = [claim for claim in buffer_lemmas.in_time(variant).claims()["invariants"] if claim.name.endswith(changed)]
    shown = all_proved([lemma]) and any_refuted(weaker) and _buffers_in_time()
    return _buffers_in_time() + 1 if shown else 0


# -- [MG] --------------------------------------------------------------------------------------------------------------


class SendsToAnybody(Priorities):
    """No priorities: a process that is active sends its message itself, also to a bigger one."""

    def taking(self, *, passive: bool) -> StageEvent:
        event, now, l = super().taking(passive=passive), self.before, self.logic
        mine = l.both(self.sender(self.m) == self.i, l.no(now.wanted(self.m)))
        return event._replace(given={**event.given, "i wants to send m, or is asked to": mine})


class CommitsWhenItAsks(Priorities):
    """A message to a bigger process is committed by its sender with the request."""

    def asking(self) -> StageEvent:
        return super().asking()._replace(happens=lambda: [self.commit(self.m)])


class CommitsOnAcknowledgement(Priorities):
    """The bigger process commits its message when the acknowledgement comes."""

    def going_on(self) -> StageEvent:
        return super().going_on()._replace(happens=lambda: [self.commit(self.m)])


def commit_claims(abstraction: type[Priorities] = Priorities) -> list[Claim]:
    """[MG] §4.2.1, of each event of Fig. 8: what i commits is just what i transmits, or receives, as a message packet;
    and that goes from a bigger to a smaller process.
    """
    run = symbolic(abstraction)
    now, i, l = run.before, run.i, run.logic
    packet = MURTY_GARG.view.packets["message"]
    claims = []
    for event in (*run.events(), *run.events_with_another()):
        commits = [happened.message for happened in event.happens()]

        def rule(x: Any, event: StageEvent = event, commits: list[Any] = commits) -> Any:
            before, after = packet.in_flight(run, now, x), packet.in_flight(run, event.after, x)
            source, destination = packet.source(run, x), packet.destination(run, x)
            transmitted, received = l.both(l.no(before), after), l.both(before, l.no(after))
            here = l.either(l.both(transmitted, source == i), l.both(received, destination == i))
            downhill = run.rank(source) > run.rank(destination)
            return l.both(
                l.either(*(x == each for each in commits)) == here,
                l.implies(l.either(transmitted, received), l.both(here, downhill)),
            )

        given = {**MURTY_GARG.now(run), **event.given, **fixed_by(run, event)}
        claims.append(Claim(f"{event.name}: commits from bigger to smaller", given, l.messages(rule)))
    return claims


@cache
def commits_go_downhill() -> bool:
    """Of Fig. 8; neither without its priorities, nor if commits were made elsewhere."""
    variants = (SendsToAnybody, CommitsWhenItAsks, CommitsOnAcknowledgement)
    return proved_by_its_rules(commit_claims(), [commit_claims(variant) for variant in variants])


# -- [SES] -------------------------------------------------------------------------------------------------------------


class DeliveriesDoNotTick(Ses):
    """A clock that counts sends and local events alone."""

    def time_after(self, i: Value, time: Value, of_message: Value) -> Value:
        return self.ops.maximum(time, of_message)


class NothingTicks(Ses):
    """A clock that sends do not advance, nor local events."""

    def after_event(self, i: Value, time: Value) -> Value:
        return time


@cache
def vector_time_is_proved() -> bool:
    """Of vector time, by induction: in full, by one entry, and Proposition 2; and not of clocks that do not tick."""
    variants = [vector_time.induction(clock) for clock in (DeliveriesDoNotTick, NothingTicks)]
    return proved_by_its_rules(vector_time.claims(), variants, vector_time.vacuity())


VECTOR_TIME_CLAIMS = len(vector_time.claims())


# -- [SA] --------------------------------------------------------------------------------------------------------------


class WaitsForNothing(ExtraMessages):
    """Whatever comes is delivered."""

    def satisfied(self, i: Value, state: State, matrix: Value) -> Value:
        return self.ops.all_of()


@cache
def clearing_is_safe() -> bool:
    """[SA] §3: what is cleared is asked for by the entry that stays; without that entry, or if messages did not
    wait for what they ask, it would not be.
    """
    variants = [constraints.clearing_claims(kind) for kind in (ClearsTheWholeColumn, WaitsForNothing)]
    return proved_by_its_rules(
        constraints.clearing_claims(), variants, constraints.vacuity(constraints.clearing_claims)
    )


class ForgetsWhatItHad(ExtraMessages):
    """On delivery the matrix of the message is taken over, in place of the maximum."""

    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        taken = self.ops.matrix(lambda k, l: matrix[k][l] * self.ops.one_if(l != i))
        return State(taken, self.after_extra(state, j).deliv)


class LearnsNothing(ExtraMessages):
    """On delivery the own matrix is kept, in place of the maximum."""

    def after_delivering(self, i: Value, state: State, j: Value, matrix: Value) -> State:
        return self.after_extra(state, j)


@cache
def delivery_strengthens() -> bool:
    """[SA] Lemma 2 for deliveries, and Lemma 3; with no maximum, or if messages did not wait for what they ask, the one
    or the other would fail.
    """
    kinds = (ForgetsWhatItHad, LearnsNothing, WaitsForNothing)
    variants = [constraints.delivery_claims(kind) for kind in kinds]
    return proved_by_its_rules(
        constraints.delivery_claims(), variants, constraints.vacuity(constraints.delivery_claims)
    )


@cache
def number_tells_delivery() -> bool:
    """[SA] Proposition 5, given what the proof of the protocol keeps; each hypothesis is needed, and it is refuted of
    the DELIV of the sender.
    """
    claim = constraints.number_claim()
    needed = not any(without_each(*claim).values()) and all_refuted([constraints.number_claim(by_receiver=False)])
    possible = all_refuted(constraints.vacuity(lambda **sorts: [constraints.number_claim(**sorts)]))
    return all_proved([claim]) and possible and needed
