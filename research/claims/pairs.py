"""Evidence about the pairs of [SES]: their number, by the letter and as in `impl`, and single steps proved by z3."""

from functools import cache
from typing import Any, NamedTuple

import z3

from crownless.impl.ops import Value
from crownless.impl.protocol import Packet
from crownless.impl.protocols.ses import Ses, Stamp, State
from crownless.impl.protocols.ses_multicast import SesMulticast
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import reachable, shortest_run_to
from crownless.proofs.induction.any_multicast import Receivers
from crownless.proofs.induction.any_run import SymbolicState
from crownless.proofs.induction.quantified import induction
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms
from crownless.proofs.protocols.ses import SES, SES_DELETE
from crownless.proofs.protocols.ses_multicast import SES_MULTICAST
from crownless.research.theorems.evidence import Evidence, by_z3
from crownless.research.variants.for_schiper_eggli_sandoz import Accompanying, PairsBesides
from crownless.spec.computation import Message

from .gathering import system_of

FOR_UNICASTS = "any number of sites and messages, any channel; unicasts, none to oneself"
FOR_MULTICASTS = "any number of sites and messages, any channel; multicasts, none to oneself"


def _scope(protocol: type) -> str:
    return FOR_MULTICASTS if issubclass(protocol, SesMulticast) else FOR_UNICASTS


# -- the numbers of pairs ----------------------------------------------------------------------------------------------


def pairs_in(buffer: Value) -> int:
    """The number of pairs in a site's buffer, or attached to a message."""
    return sum(any(row) for part in _parts(buffer) for row in part)


def _parts(buffer: Value) -> tuple[Value, ...]:
    return buffer if isinstance(buffer, Accompanying) else (buffer,)


class PairCounts(NamedTuple):
    """The greatest numbers of pairs in a site's buffer and attached to a message; and the number of states."""

    kept: int
    carried: int
    #: The number of attached pairs that are for the site where the message arrives.
    for_receiver: int
    states: int
    #: A shortest run after which more than N pairs are attached to a message.
    too_many: Run | None


def count_pairs(kind: type[SesMulticast], n: int, messages: int) -> PairCounts:
    """Over every interleaving of this many multicasts."""
    system = system_of(kind(n), Free(n, messages, sends="multicast"))
    kept = carried = for_receiver = count = 0
    for now in reachable(system):
        count += 1
        kept = max(kept, *(pairs_in(local.buffer) for local in now.locals))
        for packet in now.in_flight:
            carried = max(carried, pairs_in(packet.stamp.buffer))
            for_receiver = max(for_receiver, sum(any(part[packet.destination]) for part in _parts(packet.stamp.buffer)))
    too_many = shortest_run_to(system, lambda now: any(pairs_in(packet.stamp.buffer) > n for packet in now.in_flight))
    return PairCounts(kept, carried, for_receiver, count, too_many)


# -- single steps, put to z3 -------------------------------------------------------------------------------------------


class _Site:
    """Any site i of any number, in any state; the states after it has sent a message (to j among others, if the
    protocol has multicasts), and after it has delivered a message of j.
    """

    def __init__(self, protocol: type[Ses]) -> None:
        self.terms = terms = Terms()
        self.machine = machine = for_every_n(protocol, terms)
        self.i, self.j = terms.any_process("i"), terms.any_process("j")
        self.state = State(terms.any_vector("time"), terms.any_matrix("buffer"))
        carried: Any = terms.any_matrix("carried")
        if issubclass(protocol, PairsBesides):
            carried = Accompanying(carried, terms.any_matrix("carried besides"))
        self.stamp = Stamp(terms.any_vector("stamped"), carried)
        is_receiver = z3.Function("dest", terms.process, z3.BoolSort())
        several = issubclass(protocol, SesMulticast)
        dest: Any = Receivers((self.j,), is_receiver) if several else (self.j,)
        self.message = Message("m", self.i, dest)
        self.to_others = z3.Not(is_receiver(self.i)) if several else self.i != self.j
        (sending,) = machine.send(self.i, self.state, self.message)
        self.sent: State = sending.state
        self.delivered: State = machine.after_delivering(self.i, self.state, self.j, self.stamp)

    def every(self, holds: Any) -> Term:
        return self.machine.ops.every(holds)


@cache
def lemma_2(protocol: type[Ses]) -> Evidence:
    """The invariants of the proof imply that the pairs of a site are in its past; and they are not negative."""
    (proof,) = (proof for proof in (SES, SES_DELETE, SES_MULTICAST) if proof.protocol is protocol)
    run = proof.world(protocol)
    names = (
        "what is known or delivered is sent",
        "times are not negative",
        "what is known is not later",
        "a site's pairs are those of messages that it knows",
    )
    given = {name: proof.invariants[name](run, run.before) for name in names}
    now = run.before
    past = run.processes(lambda p, l, k: now.local(p).buffer[l][k] <= now.local(p).time[k], of=3)

    def not_negative(moment: SymbolicState) -> Term:
        return run.processes(lambda p, l, k: moment.local(p).buffer[l][k] >= 0, of=3)

    times = {"times are not negative": given["times are not negative"]}
    claims = [Claim("Lemma 2", given, past), *induction(run, "not negative", not_negative, times)]
    because = f"Lemma 2 follows from what the proof of {protocol.__name__} keeps by induction: a pair's entries are "
    return by_z3(f"{because}those of messages that the site knows", claims, scope=_scope(protocol))


@cache
def entries_count_events() -> Evidence:
    """By induction: a site's own entry is the number of its events, and the pair of what it sends has this entry."""
    site = _Site(Ses)
    i, count = site.i, z3.Int("events of i")
    before = {"counted before": site.state.time[i] == count}
    claims = [
        Claim("at the start", {}, site.machine.initial(i).time[i] == 0),
        Claim("after a delivery", before, site.delivered.time[i] == count + 1),
        Claim("after a send", before, z3.And(site.sent.time[i] == count + 1, site.sent.buffer[site.j][i] == count + 1)),
    ]
    because = "a site's own entry counts its events, and the pair that it enters for what it sends has this entry"
    return by_z3(because, claims, refuted=[[claims[1]._replace(given={})]], scope=FOR_UNICASTS)


@cache
def no_pair_for_itself(protocol: type[Ses]) -> Evidence:
    """By induction: a site has no pair for itself, so it has fewer pairs than there are sites."""
    site = _Site(protocol)

    def none(state: State) -> Term:
        return site.every(lambda k: state.buffer[site.i][k] == 0)

    before = {"none before": none(site.state)}
    claims = [
        Claim("at the start", {}, none(site.machine.initial(site.i))),
        Claim("kept by sending", {**before, "to others": site.to_others}, none(site.sent)),
        Claim("kept by delivering", before, none(site.delivered)),
    ]
    because = "a site has no pair for itself, whatever accompanies messages, so its buffer has N − 1 pairs at most"
    return by_z3(because, claims, scope=_scope(protocol))


@cache
def older_pair_says_nothing_more() -> Evidence:
    """Given Lemma 2, a discarded pair is at most the one that replaces it."""
    site = _Site(Ses)
    past = site.every(lambda k: site.state.buffer[site.j][k] <= site.state.time[k])
    shows = site.every(lambda k: site.state.buffer[site.j][k] <= site.sent.buffer[site.j][k])
    claim = Claim("the older pair", {"Lemma 2": past}, shows)
    return by_z3("by Lemma 2 the older pair asks for nothing that the new one does not", [claim], scope=FOR_UNICASTS)


@cache
def merged_pair_says_the_same() -> Evidence:
    """A time is at least the merged pair for another site iff it is at least either of the two."""
    site = _Site(Ses)
    time, l = site.terms.any_vector("time"), site.terms.any_process("l")

    def passed(pair: Term) -> Term:
        return site.every(lambda k: pair[k] <= time[k])

    both = z3.And(passed(site.state.buffer[l]), passed(site.stamp.buffer[l]))
    given = {"for another site": l != site.i, "times are not negative": site.every(lambda k: time[k] >= 0)}
    merged = site.machine.merged(site.i, site.state.buffer, site.stamp.buffer)
    claim = Claim("the supremum", given, passed(merged[l]) == both)
    return by_z3("a time has passed the merged pair iff it has passed both", [claim], scope=FOR_UNICASTS)


@cache
def same_as_impl() -> Evidence:
    """The same messages are accepted, and the resulting states are equal, as when older pairs are discarded."""
    site = _Site(PairsBesides)
    letter, impl, every = site.machine, for_every_n(SesMulticast, site.terms), site.every
    receiver = State(site.terms.any_vector("time of j"), site.terms.any_matrix("buffer of j"))
    time = letter.after_event(site.i, site.state.time)

    def packet(machine: Any) -> Packet:
        pairs = machine.accompanying(site.state.buffer, site.j, site.message.receivers, time)
        return Packet(site.i, site.j, "message", site.message, Stamp(time, pairs))

    def not_negative(buffer: Term) -> Term:
        return every(lambda l: every(lambda k: buffer[l][k] >= 0))

    times = {"times are not negative": every(lambda k: receiver.time[k] >= 0)}
    pairs = {
        "Lemma 2": every(lambda l: every(lambda k: site.state.buffer[l][k] <= site.state.time[k])),
        "pairs are not negative": z3.And(not_negative(site.state.buffer), not_negative(receiver.buffer)),
    }
    machines = (letter, impl)
    accepts, accepted = (machine.deliverable(site.j, receiver, packet(machine)) for machine in machines)
    left, right = (machine.after_delivering(site.j, receiver, site.i, packet(machine).stamp) for machine in machines)
    same_state = z3.And(
        every(lambda k: left.time[k] == right.time[k]),
        every(lambda l: every(lambda k: left.buffer[l][k] == right.buffer[l][k])),
    )
    claims = [Claim("the same guard", times, accepts == accepted), Claim("the same state after it", pairs, same_state)]
    because = (
        "by Lemma 2, pairs besides older ones make for the same guard and leave the same buffers as in their place"
    )
    return by_z3(because, claims, scope=FOR_MULTICASTS)
