"""Combinations whose transitions are the same functions, for every n: they are one protocol, and explored once.

The code of both is run on z3's terms, of any state and any packet. Equal terms are equal functions; terms that differ
may be equal functions still, and then the two are explored as two.
"""

import re
from collections.abc import Iterator
from typing import Any

import z3

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.proofs.induction.any_run import leaves, rebuilt, sent, shape, taken_in
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.refusals import Refused
from crownless.proofs.language.terms import Terms, as_term
from crownless.spec.computation import Message

#: The name of a bound variable; its number differs from run to run.
_BOUND = re.compile(r"[a-z]+![0-9]+")


def functions_of(protocol: type[ProtocolMachine]) -> str | None:
    """A text that is the same for two protocols only if their transitions are the same functions; None if its code
    cannot be run on terms.
    """
    try:
        return _text(protocol)
    except (Refused, TypeError, AttributeError, ValueError, z3.Z3Exception):
        return None


def _text(protocol: type[ProtocolMachine]) -> str:
    terms = Terms(_PROCESS)
    machine = for_every_n(protocol, terms)
    if any(getattr(protocol, each) is not getattr(ProtocolMachine, each) for each in ("internal", "receive", "agree")):
        raise TypeError("it has internal steps, which are not compared")
    i, j = terms.any_process("i"), terms.any_process("j")
    initial = machine.initial(i)
    state = _arbitrary("state", initial)
    sending = sent(machine, i, state, Message("m", i, (j,)))
    (packet,) = sending.packets
    arrived = Packet(j, i, packet.kind, Message("m", j, (i,)), _arbitrary("stamp", packet.stamp))
    delivering = taken_in(machine, i, state, arrived)
    guard = as_term(machine.deliverable(i, state, arrived))
    parts = [initial, sending.state, packet.stamp, (guard,), delivering.state]
    forms = [repr(shape(machine, "send", part)) for part in (initial, sending.state, delivering.state)]
    return "\n".join([*forms, *(_canonical(term) for part in parts for term in leaves(part))])


#: One sort for all protocols, since terms of different sorts differ.
_PROCESS = z3.DeclareSort("Process")


def _arbitrary(name: str, value: Any) -> Any:
    """An arbitrary value of this form."""
    each: Iterator[Any] = (z3.Const(f"{name}-{k}", leaf.sort()) for k, leaf in enumerate(leaves(value)))
    return rebuilt(value, each)


def _canonical(term: Any) -> str:
    """The term as text, with bound variables numbered as they occur."""
    numbers: dict[str, str] = {}
    return _BOUND.sub(lambda found: numbers.setdefault(found.group(), f"v{len(numbers)}"), z3.simplify(term).sexpr())
