"""The claims of Mattern & Fünfrocken [MF] on the buffer protocol."""

from __future__ import annotations

from crownless.spec.computation import Computation
from crownless.spec.orders import decide

from .claims import Evidence, Shown, Text, unless
from .evidence import broken_by, holds, is_proved, proof_of, ran, searched, states, up_to, within

TEXT = Text()


def _first_that_keeps(kept: str, broken: str, n: int, m: int) -> Computation:
    """A smallest computation that keeps one order and breaks the other."""
    return min(
        (c for c in up_to(n, m) if decide(c, kept).kept and not decide(c, broken).kept),
        key=lambda c: (len(c.messages), len(c.processes)),
    )


@TEXT.claim("MF1", "[MF] §1", "A computation that is causally ordered is FIFO.", "checked")
def mf1(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    looked_at = 0
    for c in up_to(n, m):
        looked_at += 1
        if decide(c, "causal").kept and not decide(c, "fifo").kept:
            return Evidence("refuted", f"{n} processes, {m} messages", "found one", (Shown("causal and not FIFO", c),))
    because = f"of {looked_at:,} computations every one that keeps causal order keeps FIFO"
    return Evidence("checked", f"every complete computation of up to {n} processes and {m} messages", because)


@TEXT.claim(
    "MF2",
    "[MF] §1",
    "Asynchronous ⊋ FIFO ⊋ causally ordered ⊋ synchronous: each inclusion holds and is strict.",
    "checked",
)
def mf2(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    chain = ("synchronous", "causal", "fifo", "asynchronous")
    for c in up_to(n, m):
        kept = [decide(c, order).kept for order in chain]
        if kept != sorted(kept):
            return Evidence("refuted", f"{n} processes, {m} messages", "found one", (Shown("outside the chain", c),))
    shown = []
    for stronger, weaker in zip(chain, chain[1:], strict=False):
        shown.append(Shown(f"smallest that is {weaker} and not {stronger}", _first_that_keeps(weaker, stronger, n, m)))
    scope = f"every complete computation of up to {n} processes and {m} messages"
    return Evidence(
        "checked", scope, "each order is within the next; a smallest witness each that it is less", tuple(shown)
    )


@TEXT.claim(
    "MF3",
    "[MF] §2",
    "Blocking the sender until an acknowledgement comes realises FIFO, and more: synchronous computations.",
    "checked",
    reading="wait-and-acknowledge with the application's receive as the acknowledgement (`rendezvous`)",
)
def mf3(quick: bool) -> Evidence:
    result = searched("rendezvous", 3, 3 if quick else 4, orders=("fifo", "causal", "synchronous"))
    fails = not holds(result, "fifo", "causal", "synchronous")
    return Evidence(
        unless(fails, "checked"), result.scope, f"keeps fifo, causal and synchronous order in {states(result)}"
    )


@TEXT.claim(
    "MF7",
    "[MF] §2, Fig. 1",
    "Wait-and-acknowledge is causally ordered, and deadlocks on Fig. 1's program.",
    "checked",
)
def mf7(quick: bool) -> Evidence:
    free = searched("rendezvous", 3, 3 if quick else 4, orders=("causal",))
    program = ran("rendezvous", "mf-fig1")
    deadlock = broken_by(program, "completes")
    fails = not holds(free, "causal") or deadlock is None or program.completes != "never"
    shown = () if deadlock is None else (Shown("the deadlock on Fig. 1's program", deadlock),)
    because = f"causal in {states(free)}; no run of Fig. 1's program comes to its end"
    return Evidence(unless(fails, "checked"), within(free, program), because, shown)


@TEXT.claim(
    "MF6",
    "[MF] §2",
    "The matrix protocol that increments before it sends is causally ordered and delivers everything.",
    "proved",
    reading="the matrix is merged on delivery; nobody sends to himself, which breaks it",
)
def mf6(quick: bool) -> Evidence:
    fails = not is_proved("rst-before", "safe", "live")
    because = f"z3 shows {len(proof_of('rst-before').claims)} claims, of the protocol's own code"
    return Evidence(unless(fails, "proved"), "any number of processes and messages, no self-sends", because)
