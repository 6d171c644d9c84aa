"""Combinations that behave alike: they are one protocol to the application, within a bound.

Seen are the messages handed over, sends and deliveries, each at its process; all other steps are silent. Two systems
behave alike if they are branching bisimilar (van Glabbeek & Weijland, JACM 43(3), 1996): whatever one does, the other
can do, after silent steps that change nothing of what can be done.
"""

import hashlib
from graphlib import CycleError, TopologicalSorter

from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.system import LocalStep, State, System

#: What is seen of a step, and the behavior that follows.
Signature = frozenset[tuple[str, str]]
SILENT = ""


def behavior_of(system: System) -> str | None:
    """A digest that two systems share if and only if they behave alike; None if a run returns to a state."""
    moves = {
        reached.state: {(seen(system, step), target) for step, target in reached.moves} for reached in reachable(system)
    }
    signatures: dict[str, Signature] = {}
    known: dict[State, str] = {}
    try:
        for state in TopologicalSorter(
            {state: {to for _, to in after} for state, after in moves.items()}
        ).static_order():
            known[state] = _behavior({(what, known[to]) for what, to in moves[state]}, signatures)
    except CycleError:
        return None
    return known[system.initial()]


def seen(system: System, step: LocalStep) -> str:
    """What the application, or an order, sees of a step."""
    return ", ".join(map(repr, step.observations))


def _behavior(moves: set[tuple[str, str]], signatures: dict[str, Signature]) -> str:
    """The behavior of a state with these moves: that after a silent one, if all the others can be done then too."""
    for what, after in sorted(moves):
        if what == SILENT and moves - {(what, after)} <= signatures[after]:
            return after
    text = "\n".join(f"{what}: {after}" for what, after in sorted(moves))
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    signatures[digest] = frozenset(moves)
    return digest
