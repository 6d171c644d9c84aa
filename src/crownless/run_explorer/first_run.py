"""The run with which a page of a protocol begins unless one is requested: a run worth stepping through."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from crownless.runtime.ending import Limits, look, stoppable
from crownless.runtime.printable import some

from .state_space import StateSpace

#: The most nodes that are searched for a packet that is held back, the nearest to the start.
VISITED = 2_000


class FirstRun(NamedTuple):
    """The choices of a run, and what it shows."""

    choices: list[int]
    shows: str


def first_run(space: StateSpace, data: dict[str, Any], limits: Limits | None = None) -> FirstRun:
    """A shortest run on the page that violates a promised property; failing that, one in which a packet is held back,
    if possible for one of another link; failing that, one in which everything is delivered, or else a longest one.

    `data`: the page's tables, as in `StateSpace.as_data`. If the page lacks states, `shows` says that a violation was
    searched only among those that it has.
    """
    promised = set(space.promised)
    tree = _Tree(data)
    violation = tree.shortest(lambda _, effect: not promised.isdisjoint(space.violated_by(effect)))
    if violation is not None:
        return FirstRun(violation, "a shortest run that violates what the protocol promises")
    found = FirstRun(tree.longest(), "a longest run on this page")
    with stoppable(limits):
        found = _without_violation(space, tree) or found
    here = f"; none of the {some(data['states'], 'state')} on this page shows a violation, and there are further states"
    return found._replace(shows=found.shows + here * data["beyond"])


def _without_violation(space: StateSpace, tree: "_Tree") -> FirstRun | None:
    for alone in (True, False):
        held_back = tree.shortest(partial(_holds_back, space, alone), VISITED)
        if held_back is not None:
            return FirstRun(held_back, "a run in which a packet is held back")
    complete = tree.shortest(lambda node, _: space.delivers_everything(node), VISITED)
    return FirstRun(complete, "a run in which every message is delivered") if complete else None


def _holds_back(space: StateSpace, alone: bool, node: int, _: int) -> bool:
    return space.holds_back(node, alone=alone)


class _Tree:
    """A shortest run to each node of a page, by the move that leads there."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._moves: Sequence[Sequence[int]] = data["moves"]
        self._ends: dict[str, int] = data["ends"]
        #: By node the node before it, and the choice there; the nearest nodes first.
        self._from: dict[int, tuple[int, int] | None] = {0: None}
        self._reached = [0]
        for node in self._reached:
            for choice, after, _ in self._moves_of(node):
                if after not in self._from:
                    self._from[after] = (node, choice)
                    self._reached.append(after)

    def _moves_of(self, node: int) -> Iterator[tuple[int, int, int]]:
        """The moves of a node that stay on the page: the choice, the node after it, and its effect."""
        flat = self._moves[node]
        for k in range(1, len(flat), 3):
            if 0 <= flat[k] < len(self._moves):
                yield k // 3, flat[k], flat[k + 1]

    def shortest(self, wanted: Callable[[int, int], bool], most: int | None = None) -> list[int] | None:
        """The choices of a shortest run to a wanted node, or whose last move, or its end, has a wanted effect."""
        for node in self._reached[:most]:
            look()
            if wanted(node, self._ends.get(str(node), 0)):
                return self._run_to(node)
            for choice, after, effect in self._moves_of(node):
                if effect and wanted(after, effect):
                    return [*self._run_to(node), choice]
        return None

    def longest(self) -> list[int]:
        """The choices of a shortest run to a farthest node."""
        return self._run_to(self._reached[-1])

    def _run_to(self, node: int) -> list[int]:
        choices = []
        while (came := self._from[node]) is not None:
            node, choice = came
            choices.append(choice)
        return choices[::-1]
