"""Orders of any number of events, processes and messages: [MF] §1; [MG] Theorems 1, 2 and 7, and strong crowns.

That → is the *least* transitive relation with ≺ and ⇝ cannot be expressed in first-order logic. It is used once, for
one relation: `TIME` contains ≺ and ⇝ and is transitive (three claims), so → lies within it. An induction along a crown
is put to z3 as its base, its step and its end. Argued only in words: finitely many messages without a cycle can be
sorted.

Theorem 7 uses the formulas of SP and RP alone. One message is *linked* to another if an event of the one precedes an
event of the other on a line. Four lemmas, one for each kind of link, put links into →. A link out of a receive begins
at the send, one out of a send begins at s.ack; a link into a send ends there, one into a receive ends at s.ack. So
links make no cycle, unless one enters a message by its receive and leaves by its receive. Such a message can be left
out, as all three events are on one line (the merging step). The printed proof rests on Lemma 4, which is false as
printed (MG13); this one does without crowns.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Literal, get_args

import z3

from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

from .computation import NEVER, AnyComputation, Hypotheses
from .evidence import Evidence, by_z3, each_alone, lacking_each

SORTED_IN_WORDS = "that finitely many messages without a cycle can be sorted is argued"


# -- [MF] §1: causal order implies FIFO order --------------------------------------------------------------------------
#
# The two definitions, for events and an arbitrary relation ≺ between them: it need not be happened-before. Sends and
# receives are functions of a message (and of the receiver, if it has several); a message that is not received is lost
# (it violates nothing), or pending (it comes last of all).

Unreceived = Literal["lost", "pending"]


class Orders:
    """Any computation, with the definitions of causal and FIFO order as formulas."""

    def __init__(self, unreceived: Unreceived) -> None:
        self.unreceived = unreceived
        self.message, self.process, event = map(z3.DeclareSort, ("Message", "Process", "Event"))
        truth = z3.BoolSort()
        self.sender = z3.Function("sender", self.message, self.process)
        self.send = z3.Function("send", self.message, event)
        self.receive = z3.Function("receive", self.message, self.process, event)
        self.to = z3.Function("to", self.message, self.process, truth)
        self.received = z3.Function("received", self.message, self.process, truth)
        self.before = z3.Function("before", event, event, truth)

    def _in_order(self, x: Term, y: Term, p: Term) -> Term:
        """At p, y is not received before x."""
        follows = self.before(self.receive(x, p), self.receive(y, p))
        if self.unreceived == "lost":
            return z3.Implies(z3.And(self.received(x, p), self.received(y, p)), follows)
        return z3.Implies(self.received(y, p), z3.And(self.received(x, p), follows))

    def _ordered(self, x: Term, y: Term, p: Term) -> Term:
        return z3.And(self.to(x, p), self.to(y, p), self.before(self.send(x), self.send(y)))

    def causal(self) -> Term:
        """(r ~ r') ∧ (s ≺ s') ⇒ r ≺ r'."""
        return self._all(lambda x, y, p: z3.Implies(self._ordered(x, y, p), self._in_order(x, y, p)))

    def fifo(self) -> Term:
        """(s ~ s') ∧ (r ~ r') ∧ (s ≺ s') ⇒ r ≺ r'."""
        return self._all(
            lambda x, y, p: z3.Implies(
                z3.And(self.sender(x) == self.sender(y), self._ordered(x, y, p)), self._in_order(x, y, p)
            )
        )

    def _all(self, holds: Callable[[Term, Term, Term], Term]) -> Term:
        x, y, p = z3.Const("x", self.message), z3.Const("y", self.message), z3.Const("p", self.process)
        return z3.ForAll([x, y, p], holds(x, y, p))


def inclusion(unreceived: Unreceived) -> Claim:
    """Causal order implies FIFO order."""
    orders = Orders(unreceived)
    return Claim("causal order implies FIFO order", {"causal order": orders.causal()}, orders.fifo())


def converse(unreceived: Unreceived) -> Claim:
    """FIFO order implies causal order: to be refuted."""
    orders = Orders(unreceived)
    return Claim("FIFO order implies causal order", {"FIFO order": orders.fifo()}, orders.causal())


@cache
def fifo_follows_from_causal() -> Evidence:
    """By the definitions, and not conversely; causal order is a necessary hypothesis."""
    inclusions = [inclusion(policy) for policy in get_args(Unreceived)]
    converses = [converse(policy) for policy in get_args(Unreceived)]
    return by_z3(
        "FIFO follows from causal order by the two definitions, whatever ≺ is, and not conversely",
        inclusions,
        possible=[claim.given for claim in inclusions],
        refuted=[*lacking_each(*inclusions), *each_alone(converses)],
        scope="any number of processes, messages and receivers; of the definitions",
    )


# -- Theorems 1 and 2 --------------------------------------------------------------------------------------------------


class InTime(AnyComputation):
    """A computation, with the T of SYNC: a time for each event."""

    def __init__(self) -> None:
        super().__init__()
        self.time = z3.Function("T", self.event, z3.IntSort())

    def in_time(self, e: Term, f: Term) -> Term:
        """An upper bound for → where T satisfies SYNC: (1) of [MG] §2.2."""
        return z3.Or(self.is_message(e, f), self.time(e) < self.time(f))

    def sync(self) -> Hypotheses:
        time = self.time
        return {
            "SYNC: T(s) = T(r)": self.messages(lambda m: time(self.send(m)) == time(self.receive(m)), of=1),
            "SYNC: T grows along ≺": self.events(lambda e, f: z3.Implies(self.precedes(e, f), time(e) < time(f))),
        }

    def only_messages(self) -> Hypotheses:
        def of_some(e: Term) -> Term:
            return self.some_message(lambda m: z3.Or(self.send(m) == e, self.receive(m) == e))

        return {"every event is a send or a receive": self.events(of_some, of=1)}

    def leads_in_time(self) -> Hypotheses:
        within = self.events(lambda e, f: z3.Implies(self.leads(e, f), self.in_time(e, f)))
        return {"→ lies within what holds ≺ and ⇝ and is transitive": within}

    def in_order(self, before: Callable[[Term, Term], Term]) -> Term:
        """FIFO (before is ≺) or causal order (it is →), as printed."""
        return self.messages(
            lambda m, k: z3.Implies(
                before(self.send(m), self.send(k)), z3.Not(self.precedes(self.receive(k), self.receive(m)))
            )
        )

    def two_sends_in_order(self) -> Hypotheses:
        return {"one send leads to another": self.leads(self.send(self.first), self.send(self.second))}


def theorem_1_claims() -> list[Claim]:
    c = InTime()
    time = {**c.own_events(), **c.sync()}

    def path(e: Term, f: Term, g: Term) -> Term:
        return z3.Implies(z3.And(c.in_time(e, f), c.in_time(f, g)), c.in_time(e, g))

    causal = {**c.contained(), "causally ordered": c.in_order(c.leads)}
    return [
        Claim("in time holds ≺", c.sync(), c.events(lambda e, f: z3.Implies(c.precedes(e, f), c.in_time(e, f)))),
        Claim("in time holds ⇝", {}, c.messages(lambda m: c.in_time(c.send(m), c.receive(m)), of=1)),
        Claim("in time is transitive", time, c.events(path, of=3)),
        Claim("causally ordered is FIFO", causal, c.in_order(c.precedes)),
        Claim("synchronous is causally ordered", {**time, **c.leads_in_time()}, c.in_order(c.leads)),
    ]


@cache
def theorem_1() -> Evidence:
    claims = theorem_1_claims()
    return by_z3(
        "synchronous is causally ordered, and that is FIFO, by the definitions: → lies within the pairs that SYNC puts "
        "in time or in one message, since these hold ≺ and ⇝ and are transitive",
        claims,
        possible=[{**claims[-1].given, **InTime().two_sends_in_order()}],
        scope="any number of processes and messages, none to oneself; that → is the least such relation is its "
        "definition",
    )


def theorem_2_claims() -> list[Claim]:
    """Both directions; a crown has at least two messages, all distinct."""
    c = InTime()
    along = {**c.own_events(), **c.sync(), **c.leads_in_time(), **c.crown(c.leads)}
    rank = z3.Function("rank", c.message, z3.IntSort())
    ends = (c.send, c.receive)

    def edge(m: Term, k: Term) -> Term:
        return z3.Or([c.leads(e(m), f(k)) for e, f in product(ends, repeat=2)]) == c.leads(c.send(m), c.receive(k))

    def has_rank(m: Term) -> Term:
        return z3.And([c.time(end(m)) == rank(m) for end in ends])

    def grows(m: Term, k: Term) -> Term:
        return z3.Implies(z3.And(m != k, c.leads(c.send(m), c.receive(k))), rank(m) < rank(k))

    ranked = {
        **c.happened_before(),
        **c.only_messages(),
        "messages are sorted": c.messages(grows),
        "an event has the time of its message": c.messages(has_rank, of=1),
    }
    return [
        *c.never_grows_round(c.time, along),
        Claim("each edge is s → r", c.happened_before(), c.messages(edge)),
        Claim("sorted messages are in time", ranked, z3.And(*c.sync().values())),
    ]


@cache
def theorem_2() -> Evidence:
    claims = theorem_2_claims()
    return by_z3(
        "a synchronous computation has no crown, by induction along one; without crowns sorted messages are in time",
        claims,
        possible=[{**claims[-1].given, **InTime().two_sends_in_order()}],
        scope=f"any number of processes and messages, none to oneself; {SORTED_IN_WORDS}",
    )


@cache
def strong_crowns() -> Evidence:
    """[MG] §2.3: a strong crown is a crown; not the converse, nor if ≺ were not within →."""
    c = InTime()
    strong, weak = c.crown(c.precedes), c.crown(c.leads)
    claim = Claim("a strong crown is a crown", {**strong, **c.contained()}, z3.And(*weak.values()))
    converse = Claim("a crown is a strong crown", {**weak, **c.happened_before()}, z3.And(*strong.values()))
    return by_z3(
        "strong crowns of any size are crowns, since ≺ lies within →; the converse is refuted",
        [claim],
        possible=[{**strong, **c.happened_before()}],
        refuted=[[converse], [claim.without(*c.contained())]],
    )


# -- Theorem 7 ---------------------------------------------------------------------------------------------------------

RECEIVE, SEND = z3.BoolVal(True), z3.BoolVal(False)
KINDS = [*product((RECEIVE, SEND), repeat=2)]


class Links(AnyComputation):
    """Links between messages; each goes from a send or receive of the one to a send or receive of the other."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.out_of = (
            z3.Function(f"{side} receive", z3.IntSort(), z3.BoolSort()) for side in ("into", "out of")
        )

    def linked(self, out_of: Term, m: Term, into: Term, k: Term) -> Term:
        of = [z3.If(receive, self.receive(x), self.send(x)) for receive, x in ((out_of, m), (into, k))]
        return self.precedes(*of)

    def in_time(self, out_of: Term, m: Term, into: Term, k: Term) -> Term:
        """→ from the beginning of a link to its end."""
        begins = z3.If(out_of, self.send(m), self.acked(m))
        return self.leads(begins, z3.If(into, self.acked(k), self.send(k)))

    def link(self, i: Term, j: Term) -> Term:
        """The message at one place is linked to that at the other."""
        return self.linked(self.out_of(i), self.at(i), self.into(j), self.at(j))

    def no_smaller_cycle(self) -> Hypotheses:
        return {"no cycle of one message less": self.none_with_one_less(self.link)}

    def through_a_receive(self, q: Term) -> Term:
        return z3.And(q >= 0, q < self.size, self.into(q), self.out_of(q))

    def links_are_in_time(self) -> Hypotheses:
        """The four lemmas, for any two messages."""

        def lemmas(m: Term, k: Term) -> Term:
            each = [z3.Implies(self.linked(x, m, y, k), self.in_time(x, m, y, k)) for x, y in KINDS]
            return z3.Implies(m != k, z3.And(each))

        return {"the four lemmas": self.messages(lemmas)}

    def one_event_a_line(self) -> Hypotheses:
        def apart(m: Term) -> Term:
            return z3.Not(z3.Or([self.linked(x, m, y, m) for x, y in KINDS]))

        return {"no message is linked to itself": self.messages(apart, of=1)}

    def receive_protocol(self) -> Term:
        """The formula of RP: s1 ≺ r2 ⇒ s1.ack ≺ r2.ack."""
        return self.messages(
            lambda m, k: z3.Implies(
                self.precedes(self.send(m), self.receive(k)), self.precedes(self.acked(m), self.ack(k))
            )
        )


def four_lemmas() -> list[Claim]:
    """Each kind of link expressed by →; b is s.ack, the receive of the acknowledgement."""
    c = Links()
    given = {
        **c.computation(),
        **c.acknowledged(),
        "SP": c.send_protocol(),
        "RP": c.receive_protocol(),
        "two messages": c.first != c.second,
    }
    names = {
        "r1 ≺ s2 ⇒ s1 → s2": (RECEIVE, SEND),
        "r1 ≺ r2 ⇒ s1 → b2": (RECEIVE, RECEIVE),
        "s1 ≺ s2 ⇒ b1 → s2": (SEND, SEND),
        "s1 ≺ r2 ⇒ b1 → b2": (SEND, RECEIVE),
    }
    return [
        Claim(name, {**given, "linked": c.linked(x, c.first, y, c.second)}, c.in_time(x, c.first, y, c.second))
        for name, (x, y) in names.items()
    ]


def merging() -> list[Claim]:
    """By induction on the size: a smallest cycle passes through no receive."""
    c = Links()
    computation = c.computation()
    line = {name: computation[name] for name in ("→ is transitive", "≺ is → on one line")}
    through = {
        **c.cycle(c.link),
        **line,
        "a link comes into a receive and the next goes out": c.through_a_receive(z3.Int("q")),
    }
    of_two = {**through, **c.one_event_a_line(), "two messages": c.size == 2}
    of_more = {**through, **c.no_smaller_cycle(), "three messages or more": c.size >= 3}
    return [
        Claim("no message is linked to itself", computation, z3.And(*c.one_event_a_line().values())),
        Claim("no cycle of two passes through a receive", of_two, NEVER),
        Claim("no smallest cycle passes through a receive", of_more, NEVER),
    ]


def no_cycle() -> list[Claim]:
    """By induction along a cycle that passes through no receive: → would have a cycle."""
    c = Links()
    q = z3.Int("q")
    computation = c.computation()
    given = {
        **{name: computation[name] for name in ("→ is transitive", "→ has no circle", "≺ is → on one line")},
        **c.acknowledged(),
        **c.cycle(c.link),
        **c.links_are_in_time(),
        "it passes through no receive": z3.ForAll([q], z3.Not(c.through_a_receive(q))),
    }

    def reached(j: Term) -> Term:
        """→ from the beginning of the first link to the end of the link into this place."""
        return c.in_time(c.out_of(0), c.at(0), c.into(j), c.at(j))

    return c.never_closed(reached, given)


def ranks_are_in_time() -> Claim:
    """Messages sorted along links have a T that satisfies SYNC: their rank, for both events of a message."""
    c = Links()
    rank = z3.Function("rank", c.message, z3.IntSort())

    def grows(m: Term, k: Term) -> Term:
        return z3.Implies(z3.Or([c.linked(x, m, y, k) for x, y in KINDS]), rank(m) < rank(k))

    is_sorted = c.messages(lambda m, k: z3.Implies(m != k, grows(m, k)))
    return Claim("T grows along ≺", {**c.one_event_a_line(), "messages are sorted": is_sorted}, c.messages(grows))


@cache
def theorem_7() -> Evidence:
    """In addition, its steps are not vacuous: an acyclic chain of links that → follows is possible."""
    base, *_ = no_cycle()
    chain = base.without("the last message is linked to the first").given
    return by_z3(
        f"with b for the receive of an acknowledgement: {', '.join(claim.name for claim in four_lemmas())}. So links "
        "between messages along their lines make no cycle, except through a receive that a link comes into and the "
        "next goes out of; there the message can be left out, by induction on the size of the cycle. Without cycles "
        "messages can be sorted, and their ranks are the times of SYNC",
        [*four_lemmas(), *merging(), *no_cycle(), ranks_are_in_time()],
        possible=[*(claim.given for claim in four_lemmas()), chain, ranks_are_in_time().given],
        scope=f"any number of processes and messages, each message acknowledged, none to oneself; {SORTED_IN_WORDS}",
    )


# -- SYNC of §2.2, and linearizations in which each receive follows its send at once -----------------------------------


def linearization_claims(c: InTime) -> list[Claim]:
    """From a linearization in which each receive follows its send at once to the T of SYNC, and back."""
    place = z3.Function("place", c.event, z3.IntSort())
    rank = z3.Function("rank", c.message, z3.IntSort())

    def in_line(m: Term) -> Term:
        return place(c.receive(m)) == place(c.send(m)) + 1

    def at_send(m: Term) -> Term:
        return z3.And(c.time(c.send(m)) == place(c.send(m)), c.time(c.receive(m)) == place(c.send(m)))

    def sorted_by_time(m: Term, k: Term) -> Term:
        return z3.And(
            z3.Implies(c.time(c.send(m)) < c.time(c.send(k)), rank(m) < rank(k)),
            z3.Implies(rank(m) == rank(k), m == k),
        )

    def placed(m: Term) -> Term:
        return z3.And(place(c.send(m)) == 2 * rank(m), place(c.receive(m)) == 2 * rank(m) + 1)

    linearization = {
        "≺ is kept": c.events(lambda e, f: z3.Implies(c.precedes(e, f), place(e) < place(f))),
        "no two events are at one place": c.events(lambda e, f: z3.Implies(place(e) == place(f), e == f)),
        "each receive follows its send": c.messages(in_line, of=1),
    }
    places = {"messages are sorted by T": c.messages(sorted_by_time), "places of sorted ones": c.messages(placed, of=1)}
    of_messages = {**c.happened_before(), **c.only_messages()}
    times = {"T is the place of the send": c.messages(at_send, of=1)}
    return [
        Claim("a linearization gives SYNC", {**of_messages, **linearization, **times}, z3.And(*c.sync().values())),
        Claim("SYNC gives a linearization", {**of_messages, **c.sync(), **places}, z3.And(*linearization.values())),
    ]


@cache
def linearizations() -> Evidence:
    """[MG] §2.2: SYNC is equivalent to such a linearization; not if receives need not follow at once."""
    c = InTime()
    claims = linearization_claims(c)
    return by_z3(
        "the place of its send is a time for both events of a message; and messages sorted by T give a linearization",
        claims,
        possible=[{**claim.given, **c.two_sends_in_order()} for claim in claims],
        refuted=[[claims[0].without("each receive follows its send")]],
        scope=f"any number of processes and messages, none to oneself; {SORTED_IN_WORDS}",
    )
