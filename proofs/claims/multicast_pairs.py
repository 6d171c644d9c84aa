"""The number of pairs that accompany a multicast, by the letter of [SES] §4.2.1 and as `impl` has it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import z3

from crownless.impl.ops import Value
from crownless.impl.protocol import Packet
from crownless.impl.ses import Stamp, State
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.variants.for_schiper_eggli_sandoz import Accompanying, PairsBesides
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import reachable, shortest_run_to
from crownless.proofs.induction.any_multicast import Receivers
from crownless.proofs.induction.any_run import SymbolicState
from crownless.proofs.induction.evidence import Evidence, by_z3
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms
from crownless.proofs.protocols.ses_multicast import SES_MULTICAST
from crownless.spec.computation import Message

from .evidence import system_of

FOR_MULTICASTS = "any number of sites and messages, any channel; multicasts, none to oneself"


def pairs_in(buffer: Value) -> int:
    """How many pairs there are in what a site keeps, or in what accompanies a message."""
    return sum(any(row) for part in _parts(buffer) for row in part)


def pairs_for(site: int, buffer: Value) -> int:
    """How many of them are for that site."""
    return sum(any(part[site]) for part in _parts(buffer))


def _parts(buffer: Value) -> tuple[Value, ...]:
    return buffer if isinstance(buffer, Accompanying) else (buffer,)


class PairCounts(NamedTuple):
    """How many pairs there are at most in a site's buffer, and in what accompanies a message; in so many states."""

    kept: int
    carried: int
    #: How many of those that accompany a message are for the site where it arrives.
    for_receiver: int
    states: int
    #: A shortest run after which a message is accompanied by more than N pairs.
    too_many: Run | None


def count_pairs(kind: type[SesMulticast], n: int, messages: int) -> PairCounts:
    """Over every interleaving of so many multicasts."""
    system = system_of(kind(n), Free(n, messages, sends="multicast"))
    kept = carried = for_receiver = count = 0
    for now in reachable(system):
        count += 1
        kept = max(kept, *(pairs_in(local.buffer) for local in now.locals))
        for packet in now.in_flight:
            carried = max(carried, pairs_in(packet.stamp.buffer))
            for_receiver = max(for_receiver, pairs_for(packet.destination, packet.stamp.buffer))
    too_many = shortest_run_to(system, lambda now: any(pairs_in(packet.stamp.buffer) > n for packet in now.in_flight))
    return PairCounts(kept, carried, for_receiver, count, too_many)


class _Multicast:
    """A site i sends a message to any set of others; a copy for j, in any state of j; by the letter, and by `impl`."""

    def __init__(self, kind: type[PairsBesides]) -> None:
        self.terms = terms = Terms()
        self.letter, self.impl = for_every_n(kind, terms), for_every_n(SesMulticast, terms)
        self.i, self.j = terms.any_process("i"), terms.any_process("j")
        self.sender = State(terms.any_vector("time"), terms.any_matrix("buffer"))
        self.receiver = State(terms.any_vector("time of j"), terms.any_matrix("buffer of j"))
        self.is_receiver = z3.Function("dest", terms.process, z3.BoolSort())
        dest: Any = Receivers((self.j,), self.is_receiver)
        self.time = self.letter.after_event(self.i, self.sender.time)
        self.message = Message("m", self.i, dest)

    def packet(self, machine: SesMulticast) -> Packet:
        pairs = machine.accompanying(self.sender.buffer, self.j, self.message.receivers, self.time)
        return Packet(self.i, self.j, "message", self.message, Stamp(self.time, pairs))


@cache
def same_as_impl() -> Evidence:
    because = (
        "by Lemma 2, pairs besides older ones make for the same guard and leave the same buffers as in their place"
    )
    return by_z3(because, same_as_impl_claims(), scope=FOR_MULTICASTS)


def same_as_impl_claims(kind: type[PairsBesides] = PairsBesides) -> list[Claim]:
    """For every n: the same messages are accepted, and the same state is left, as with older pairs discarded."""
    at = _Multicast(kind)
    every = at.impl.ops.every

    def not_negative(buffer: Term) -> Term:
        return every(lambda l: every(lambda k: buffer[l][k] >= 0))

    of_the_past = every(lambda l: every(lambda k: at.sender.buffer[l][k] <= at.sender.time[k]))
    times = {"times are not negative": every(lambda k: at.receiver.time[k] >= 0)}
    pairs = {
        "Lemma 2": of_the_past,
        "pairs are not negative": z3.And(not_negative(at.sender.buffer), not_negative(at.receiver.buffer)),
    }
    one, other = at.packet(at.letter), at.packet(at.impl)
    deliverable = at.letter.deliverable(at.j, at.receiver, one) == at.impl.deliverable(at.j, at.receiver, other)
    left, right = (
        machine.after_delivering(at.j, at.receiver, at.i, packet.stamp)
        for machine, packet in ((at.letter, one), (at.impl, other))
    )
    same_state = z3.And(
        every(lambda k: left.time[k] == right.time[k]),
        every(lambda l: every(lambda k: left.buffer[l][k] == right.buffer[l][k])),
    )
    return [Claim("the same guard", times, deliverable), Claim("the same state after it", pairs, same_state)]


@cache
def no_pair_for_itself() -> Evidence:
    because = "no site has a pair for itself, whatever accompanies messages, so its buffer has N − 1 pairs at most"
    return by_z3(because, no_pair_for_itself_claims(), scope=FOR_MULTICASTS)


def no_pair_for_itself_claims(kind: type[PairsBesides] = PairsBesides) -> list[Claim]:
    """For every n: a site has no pair for itself, by induction; so its buffer has fewer pairs than there are sites."""
    at = _Multicast(kind)

    def none(state: State) -> Term:
        return at.letter.ops.every(lambda k: state.buffer[at.i][k] == 0)

    (sending,) = at.letter.send(at.i, at.sender, at.message)
    carried = Accompanying(at.terms.any_matrix("carried"), at.terms.any_matrix("carried besides"))
    stamp = Stamp(at.terms.any_vector("stamped"), carried)
    before, to_others = {"none before": none(at.sender)}, {"to others": z3.Not(at.is_receiver(at.i))}
    return [
        Claim("no pair for itself: at the start", {}, none(at.letter.initial(at.i))),
        Claim("no pair for itself: kept by sending", {**before, **to_others}, none(sending.state)),
        Claim(
            "no pair for itself: kept by delivering",
            before,
            none(at.letter.after_delivering(at.i, at.sender, at.j, stamp)),
        ),
    ]


@cache
def lemma_2_with_multicasts() -> Evidence:
    because = "Lemma 2 follows from what the proof of ses-multicast keeps by induction"
    return by_z3(because, lemma_2_claims(), scope=FOR_MULTICASTS)


def lemma_2_claims() -> list[Claim]:
    """That the pairs of a site are of its past, and not negative, wherever the invariants of the proof hold."""
    run = SES_MULTICAST.world(SesMulticast)
    names = (
        "what is known or delivered is sent",
        "times are not negative",
        "what is known is not later",
        "a site's pairs are those of messages that it knows",
    )
    given = {name: SES_MULTICAST.invariants[name](run, run.before) for name in names}
    now = run.before
    past = run.processes(lambda p, l, k: now.local(p).buffer[l][k] <= now.local(p).time[k], of=3)

    def not_negative(moment: SymbolicState) -> Term:
        return run.processes(lambda p, l, k: moment.local(p).buffer[l][k] >= 0, of=3)

    claims = [Claim("Lemma 2", given, past), Claim("not negative: at the start", {}, not_negative(run.start))]
    before = {"times are not negative": given["times are not negative"], "not negative": not_negative(now)}
    for event in run.events():
        claims.append(
            Claim(f"not negative: kept by {event.name}", {**before, **event.given}, not_negative(event.after))
        )
    return claims
