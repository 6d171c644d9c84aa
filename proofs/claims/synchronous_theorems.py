"""[MG] Theorems 1 and 2, put to z3 for any number of events, processes and messages.

That → is the *least* transitive relation with ≺ and ⇝ is no sentence of first-order logic. It is used once, for one
relation: `TIMES` holds ≺ and ⇝ and is transitive (three theorems), so → lies within it. An induction along a crown is
put to z3 as its base, its step and its end. In words only: that a finite graph without cycles can be sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import z3

from crownless.proofs.terms import Term
from crownless.proofs.theorem import Claim

from .evidence import all_proved, all_refuted, not_vacuous

EVENT, MESSAGE, PROCESS = (z3.DeclareSort(name) for name in ("Event", "Message", "Process"))
PRECEDES = z3.Function("precedes", EVENT, EVENT, z3.BoolSort())
LEADS = z3.Function("leads", EVENT, EVENT, z3.BoolSort())
AT = z3.Function("process", EVENT, PROCESS)
SEND, RECEIVE = (z3.Function(name, MESSAGE, EVENT) for name in ("send", "receive"))
#: The T of SYNC.
T = z3.Function("T", EVENT, z3.IntSort())

E, F, G = z3.Consts("e f g", EVENT)
M, K = z3.Consts("m k", MESSAGE)

Hypotheses = dict[str, Term]


def is_message(e: Term, f: Term) -> Term:
    """e ⇝ f."""
    return z3.Exists([M], z3.And(e == SEND(M), f == RECEIVE(M)))


def in_time(e: Term, f: Term) -> Term:
    """What → lies within, where T is as SYNC has it: (1) of [MG] §2.2."""
    return z3.Or(is_message(e, f), T(e) < T(f))


def events() -> Hypotheses:
    return {
        "each event is of one message": z3.ForAll(
            [M, K],
            z3.And(z3.Implies(z3.Or(SEND(M) == SEND(K), RECEIVE(M) == RECEIVE(K)), M == K), SEND(M) != RECEIVE(K)),
        )
    }


def sync() -> Hypotheses:
    return {
        "SYNC: T(s) = T(r)": z3.ForAll([M], T(SEND(M)) == T(RECEIVE(M))),
        "SYNC: T grows along ≺": z3.ForAll([E, F], z3.Implies(PRECEDES(E, F), T(E) < T(F))),
    }


def leads_in_time() -> Hypotheses:
    return {
        "→ lies within what holds ≺ and ⇝ and is transitive": z3.ForAll([E, F], z3.Implies(LEADS(E, F), in_time(E, F)))
    }


def happened_before() -> Hypotheses:
    """What → holds; and that no message goes to its own sender."""
    return {
        "→ holds ≺": z3.ForAll([E, F], z3.Implies(PRECEDES(E, F), LEADS(E, F))),
        "→ holds ⇝": z3.ForAll([M], LEADS(SEND(M), RECEIVE(M))),
        "→ is transitive": z3.ForAll([E, F, G], z3.Implies(z3.And(LEADS(E, F), LEADS(F, G)), LEADS(E, G))),
        "nobody sends to himself": z3.ForAll([M], AT(SEND(M)) != AT(RECEIVE(M))),
        "≺ is on one line, without a circle": z3.ForAll(
            [E, F], z3.Implies(PRECEDES(E, F), z3.And(AT(E) == AT(F), E != F))
        ),
    }


def _in_order(before: Callable[[Term, Term], Term]) -> Term:
    """FIFO (before is ≺) or causal order (it is →), as printed."""
    return z3.ForAll([M, K], z3.Implies(before(SEND(M), SEND(K)), z3.Not(PRECEDES(RECEIVE(K), RECEIVE(M)))))


def theorem_1() -> list[Claim]:
    time = {**events(), **sync()}
    path = z3.Implies(z3.And(in_time(E, F), in_time(F, G)), in_time(E, G))
    return [
        Claim("in time holds ≺", sync(), z3.ForAll([E, F], z3.Implies(PRECEDES(E, F), in_time(E, F)))),
        Claim("in time holds ⇝", {}, z3.ForAll([M], in_time(SEND(M), RECEIVE(M)))),
        Claim("in time is transitive", time, z3.ForAll([E, F, G], path)),
        Claim("synchronous is causally ordered", {**time, **leads_in_time()}, _in_order(LEADS)),
        Claim("causally ordered is FIFO", {**_contained(), "causally ordered": _in_order(LEADS)}, _in_order(PRECEDES)),
    ]


def theorem_2() -> list[Claim]:
    """Both directions, where a crown is of two or more messages, all distinct."""
    return [*_no_crown_in_time(), *_sorted_messages_are_in_time()]


def is_cycle(link: Callable[[Term, Term], Term], at: Callable[[Term], Term], size: Term) -> Hypotheses:
    """The messages at these places, from 0 on, are a cycle: each place is linked to the next, the last to the first."""
    i, j = z3.Ints("i j")
    return {
        "a cycle has two messages or more": size >= 2,
        "each message is linked to the next": z3.ForAll([j], z3.Implies(z3.And(j >= 0, j < size - 1), link(j, j + 1))),
        "the last message is linked to the first": link(size - 1, z3.IntVal(0)),
        "the messages of a cycle are distinct": z3.ForAll(
            [i, j], z3.Implies(z3.And(i >= 0, i < j, j < size), at(i) != at(j))
        ),
    }


def without_place(p: Term) -> Callable[[Term], Term]:
    """The places of a cycle without this one."""
    return lambda i: z3.If(i < p, i, i + 1)


def is_crown(before: z3.FuncDeclRef, crown: Callable[[Term], Term], size: Term) -> Hypotheses:
    """These messages are a crown by →, or a strong one, by ≺ (before): each send before the next receive."""
    return is_cycle(lambda i, j: before(SEND(crown(i)), RECEIVE(crown(j))), crown, size)


CROWN, SIZE = z3.Function("crown", z3.IntSort(), MESSAGE), z3.Int("size")


def _crown(before: z3.FuncDeclRef) -> Hypotheses:
    """Some crown, of some size."""
    return is_crown(before, CROWN, SIZE)


def strong_crown() -> Claim:
    """[MG] §2.3: a strong crown is a crown."""
    strong, weak = _crown(PRECEDES), _crown(LEADS)
    return Claim("a strong crown is a crown", {**strong, **_contained()}, z3.And(*weak.values()))


def _contained() -> Hypotheses:
    return {name: happened_before()[name] for name in ("→ holds ≺",)}


@cache
def strong_crown_is_proved() -> bool:
    """And not the converse, nor if ≺ were not within →."""
    claim = strong_crown()
    strong, weak = _crown(PRECEDES), _crown(LEADS)
    converse = Claim("a crown is a strong crown", {**weak, **happened_before()}, z3.And(*strong.values()))
    unrelated = claim._replace(given=strong)
    return all_proved([claim]) and not_vacuous({**strong, **happened_before()}) and all_refuted([converse, unrelated])


def _no_crown_in_time() -> list[Claim]:
    """Synchronous ⟹ ¬crown: along a crown, T would grow from its first message to its first message."""
    return never_comes_round("T", T, {**events(), **sync(), **leads_in_time(), **_crown(LEADS)})


def never_comes_round(name: str, value: Callable[[Term], Term], given: Hypotheses) -> list[Claim]:
    """Given the links of a crown: that from each of its sends to the next this value grows, by induction along it; so
    there is none.
    """
    i = z3.Int("i")
    first = value(SEND(CROWN(0)))
    grown = {
        f"{name} has grown up to i": first < value(SEND(CROWN(i))),
        "i is on the crown": z3.And(i >= 1, i < SIZE),
    }
    end = {**given, f"{name} has grown to the last": first < value(SEND(CROWN(SIZE - 1)))}
    step = z3.Implies(i + 1 < SIZE, first < value(SEND(CROWN(i + 1))))
    return [
        Claim(f"{name} grows on the first step of a crown", given, first < value(SEND(CROWN(1)))),
        Claim(f"{name} grows on each step of a crown", {**given, **grown}, step),
        Claim("no crown comes round", end, z3.BoolVal(False)),
    ]


def _sorted_messages_are_in_time() -> list[Claim]:
    """¬Crown ⟹ synchronous: sorted messages give each event a time as SYNC has it."""
    rank = z3.Function("rank", MESSAGE, z3.IntSort())
    given = {
        **happened_before(),
        "every event is a send or a receive": z3.ForAll([E], z3.Exists([M], z3.Or(SEND(M) == E, RECEIVE(M) == E))),
        "messages are sorted": z3.ForAll(
            [M, K], z3.Implies(z3.And(M != K, LEADS(SEND(M), RECEIVE(K))), rank(M) < rank(K))
        ),
        "an event has the time of its message": z3.ForAll([M], z3.And(T(SEND(M)) == rank(M), T(RECEIVE(M)) == rank(M))),
    }
    edge = z3.Or([LEADS(e(M), f(K)) for e in (SEND, RECEIVE) for f in (SEND, RECEIVE)])
    return [
        Claim("each edge is s → r", happened_before(), z3.ForAll([M, K], edge == LEADS(SEND(M), RECEIVE(K)))),
        Claim("sorted messages are in time", given, z3.And(*sync().values())),
    ]


@cache
def theorem_1_is_proved() -> bool:
    return all_proved(theorem_1()) and not_vacuous(theorem_1()[3].given, LEADS(SEND(M), SEND(K)))


@cache
def theorem_2_is_proved() -> bool:
    (*_, sorting) = theorem_2()
    return all_proved(theorem_2()) and not_vacuous(sorting.given, LEADS(SEND(M), SEND(K)))
