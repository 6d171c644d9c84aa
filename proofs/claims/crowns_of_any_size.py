"""[MG] Lemma 4 and Theorem 6, repaired, for crowns of any size.

Of ↦ only that is used which `any_split` shows for two or three messages. The induction of Lemma 4 is on the size k of
the crown: a crown of two messages is strong; and one of k + 1 is, unless there is one of k. So where there is a crown
there is a strong one. That of Theorem 6 goes along a strong crown, whose processes would grow until it comes round.
"""

from __future__ import annotations

from functools import cache

import z3

from crownless.proofs.terms import Term
from crownless.proofs.theorem import Claim

from . import any_split
from .evidence import all_proved, not_vacuous
from .synchronous_theorems import (
    CROWN,
    EVENT,
    MESSAGE,
    PRECEDES,
    RECEIVE,
    SEND,
    SIZE,
    Hypotheses,
    is_crown,
    never_comes_round,
    theorem_2_is_proved,
    without_place,
)

#: ↦, of which nothing is known but what is given.
MAPS_TO = z3.Function("maps to", EVENT, EVENT, z3.BoolSort())
PROCESS = z3.Function("process", EVENT, z3.IntSort())
M0, M1, M2 = z3.Consts("m0 m1 m2", MESSAGE)


def _to(before: z3.FuncDeclRef, m: Term, k: Term) -> Term:
    """From the send of one message to the receive of the other."""
    return before(SEND(m), RECEIVE(k))


def of_two_messages() -> Hypotheses:
    """`any_split.lemma_3_is_proved`."""
    crown, strong = (z3.And(_to(before, M0, M1), _to(before, M1, M0)) for before in (MAPS_TO, PRECEDES))
    return {"Lemma 3": z3.ForAll([M0, M1], z3.Implies(z3.And(M0 != M1, crown), strong))}


def of_three_messages() -> Hypotheses:
    """`any_split.crown_shrinks`."""
    weak = z3.And(_to(MAPS_TO, M0, M1), _to(MAPS_TO, M1, M2), z3.Not(_to(PRECEDES, M1, M2)))
    left_out = z3.Implies(z3.And(z3.Distinct(M0, M1, M2), weak), _to(MAPS_TO, M0, M2))
    return {"the message before a link that is not strong may be left out": z3.ForAll([M0, M1, M2], left_out)}


def of_ranks() -> Hypotheses:
    """`any_split.strong_crowns_descend`."""
    climbs = z3.Implies(_to(PRECEDES, M0, M1), PROCESS(SEND(M0)) < PROCESS(SEND(M1)))
    return {"PR: a strong crown climbs": z3.ForAll([M0, M1], climbs)}


def no_smaller_crown() -> Hypotheses:
    """The induction hypothesis, of the crowns that one message is left out of: of such a size there is none."""
    p = z3.Int("p")
    rest = without_place(p)
    smaller = z3.And(*is_crown(MAPS_TO, lambda i: CROWN(rest(i)), SIZE - 1).values())
    none = z3.ForAll([p], z3.Implies(z3.And(p >= 0, p < SIZE), z3.Not(smaller)), patterns=[CROWN(p)])
    return {"no crown of one message less": none}


def lemma_4() -> list[Claim]:
    """By induction on the size: base and step."""
    crown, strong = is_crown(MAPS_TO, CROWN, SIZE), z3.And(*is_crown(PRECEDES, CROWN, SIZE).values())
    base = {**crown, **of_two_messages(), "two messages": SIZE == 2}
    step = {**crown, **of_three_messages(), **no_smaller_crown(), "three messages or more": SIZE >= 3}
    return [Claim("a crown of two is strong", base, strong), Claim("a smallest crown is strong", step, strong)]


def no_strong_crown() -> list[Claim]:
    """Theorem 6, of strong crowns: by induction along one, its processes grow."""
    return never_comes_round("P", PROCESS, {**is_crown(PRECEDES, CROWN, SIZE), **of_ranks()})


@cache
def lemma_4_is_proved() -> bool:
    """With RC⁺: from any crown by ↦, of whatever size, a strong one."""
    few = any_split.crown_shrinks() and any_split.lemma_3_is_proved() and any_split.stronger_condition_implies_rc()
    return few and all_proved(lemma_4()) and all(not_vacuous(claim.given) for claim in lemma_4())


@cache
def theorem_6_is_proved() -> bool:
    """With RC⁺ and PR: no crown by ↦, so none by →; that is synchronous by Theorem 2."""
    base, *_ = no_strong_crown()
    links = {name: term for name, term in base.given.items() if not name.startswith("the last")}
    possible = not_vacuous(links, SIZE > 2)
    none_strong = any_split.strong_crowns_descend() and all_proved(no_strong_crown()) and possible
    none = lemma_4_is_proved() and none_strong and any_split.maps_to_holds_happened_before()
    return none and theorem_2_is_proved()
