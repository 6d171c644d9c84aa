"""Internal steps of a process, and a search for internal steps without an end.

A process may go round in a circle for ever: that is a run like others, and the verdict says what it breaks. But where
its internal steps lead from one local state to the next and never back, or transmit packets each time round, no search
comes to an end, with nothing sent by any application. That shows in the local states alone: from where a process has
taken a few internal steps in a row, and from where one transmits packets, they are followed beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from crownless.impl.protocol import ProtocolMachine, Step

from .wrong_machine import Call, WrongMachine, shown

#: After so many internal steps in a row they are followed beforehand, to so many local states.
FOLLOWED_AFTER, MOST_FOLLOWED = 8, 1_000

#: A process and its local state.
At = tuple[int, Any]


class OwnSteps:
    """Follows the internal steps of one machine that say nothing to the application."""

    def __init__(self, machine: ProtocolMachine) -> None:
        self._machine = machine
        #: How many internal steps in a row led to a local state, of those that some did.
        self._depths: dict[At, int] = {}
        self._followed: set[At] = set()

    def look_at(self, i: int, state: Any, steps: Iterable[tuple[str, Step]]) -> None:
        """Raises `WrongMachine` if these steps, of a process in this local state, can go on without an end."""
        depth = self._depths.get((i, state), 0) + 1
        for _, step in steps:
            if not step.events:
                self._depths.setdefault((i, step.state), depth)
                if depth >= FOLLOWED_AFTER or step.packets:
                    self._follow(i, state)

    def _follow(self, i: int, state: Any) -> None:
        if (i, state) in self._followed:
            return
        #: local state → the one that it was reached from
        before: dict[Any, Any] = {state: state}
        #: local state → (the step's name, does it transmit, the local state afterwards)
        after: dict[Any, list[tuple[str, bool, Any]]] = {}
        left = [state]
        while left:
            now = left.pop()
            after[now] = [
                (name, bool(step.packets), step.state)
                for name, step in self._machine.internal(i, now)
                if not step.events
            ]
            for name, _, then in after[now]:
                if then not in before and (i, then) not in self._followed:
                    before[then] = now
                    left.append(then)
                    if len(before) > MOST_FOLLOWED:
                        raise without_end(self._machine, i, name, list(_way(before, then)))
        self._followed.update((i, known) for known in before)
        for now, steps in after.items():
            for name, transmits, then in steps:
                if transmits and _leads_to(after, then, now):
                    raise Call(type(self._machine), "internal", i, now).wrong(
                        f"can go on for ever: '{name}' transmits a packet each time round",
                        "transmit it once, or wait for an answer before the next: packets without end can be in flight",
                    )


def without_end(machine: ProtocolMachine, i: int, name: str, states: Sequence[Any]) -> WrongMachine:
    """The message on a process that takes internal steps, through these local states, with no end in sight."""
    grows = what_grows(states[0], states[-1])
    what = "it is where it was" if grows is None else f"{grows[0]} goes from {shown(grows[1])} to {shown(grows[2])}"
    return Call(type(machine), "internal", i, states[0]).wrong(
        f"can go on for ever: in {len(states) - 1:,} steps in a row, the last of them '{name}', with nothing received "
        f"or submitted, {what}",
        "bound what grows, or take the step only after something was received or submitted",
    )


def what_grows(first: Any, last: Any, called: str = "its local state") -> tuple[str, Any, Any] | None:
    """The first part in which two local states differ, by its name, and what it is in each; None: in none."""
    parts = list(_parts(first, last, called))
    for name, one, other in parts:
        if one != other:
            return what_grows(one, other, name) or (name, one, other)
    return None if parts or first == last else (called, first, last)


def _parts(first: Any, last: Any, called: str) -> Iterator[tuple[str, Any, Any]]:
    """The parts of two values that are made alike."""
    prefix = "" if called == "its local state" else f"{called}."
    if type(first) is not type(last):
        return
    if is_dataclass(first) and not isinstance(first, type):
        for field in fields(first):
            yield prefix + field.name, getattr(first, field.name), getattr(last, field.name)
    elif isinstance(first, tuple) and hasattr(first, "_fields"):
        for name in first._fields:
            yield prefix + name, getattr(first, name), getattr(last, name)
    elif isinstance(first, tuple) and len(first) == len(last):
        for k, (one, other) in enumerate(zip(first, last, strict=True)):
            yield f"{called}[{k}]", one, other


def _way(before: dict[Any, Any], end: Any) -> Iterator[Any]:
    """The local states on the way to one, from the first on."""
    back = [end]
    while before[back[-1]] != back[-1]:
        back.append(before[back[-1]])
    yield from reversed(back)


def _leads_to(after: dict[Any, list[tuple[str, bool, Any]]], start: Any, end: Any) -> bool:
    """True if steps lead from one local state to the other."""
    seen, left = {start}, [start]
    while left:
        now = left.pop()
        if now == end:
            return True
        new = {then for _, _, then in after.get(now, ())} - seen
        seen |= new
        left += new
    return False
