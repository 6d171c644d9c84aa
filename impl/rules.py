"""Rules that several protocols have, as predicates on local transitions (`ProtocolMachine.rules`).

Each is true only where the rule makes a difference: a vector is merged in every delivery, but it matters only if the
message brings a greater entry, or would overwrite one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .protocol import Rule, Transition

#: For a transition with an arriving packet: two vectors, such as delivered counts and those that the packet requires.
Vectors = Callable[[Any, Transition], tuple[Sequence[int], Sequence[int]]]


def column(matrix: Sequence[Sequence[int]], j: int) -> tuple[int, ...]:
    return tuple([row[j] for row in matrix])


def entries(matrix: Iterable[Iterable[int]]) -> tuple[int, ...]:
    """All entries of a matrix, as one vector."""
    return tuple([entry for row in matrix for entry in row])


def waits(has_and_needs: Vectors) -> dict[str, Rule]:
    """A guard that compares the messages delivered from each process with those that the packet counts."""

    def missing(machine: Any, t: Transition) -> set[int]:
        has, needs = has_and_needs(machine, t)
        return {k for k, (here, there) in enumerate(zip(has, needs, strict=True)) if there > here}

    def of_the_sender(machine: Any, t: Transition) -> bool:
        return t.held_back and t.packet.source in missing(machine, t)

    def of_another(machine: Any, t: Transition) -> bool:
        return t.held_back and bool(missing(machine, t) - {t.packet.source})

    return {"waits-for-an-earlier-message-of-the-sender": of_the_sender, "waits-for-a-message-of-another": of_another}


def merges(own_and_carried: Vectors) -> dict[str, Rule]:
    """A componentwise maximum of the process's and the packet's vectors."""

    def raises(machine: Any, t: Transition) -> bool:
        return t.received and any(there > here for here, there in zip(*own_and_carried(machine, t), strict=True))

    def keeps(machine: Any, t: Transition) -> bool:
        return t.received and any(there < here for here, there in zip(*own_and_carried(machine, t), strict=True))

    return {"a-merge-raises-an-entry": raises, "a-merge-keeps-a-greater-entry": keeps}
