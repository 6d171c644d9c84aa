"""The run with which a page begins unless one is requested: a run worth stepping through."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from crownless.runtime.ending import look

from .state_space import StateSpace

#: The most nodes that are searched, the nearest to the start.
VISITED = 2_000


class FirstRun(NamedTuple):
    """The choices of a run, and what it shows."""

    choices: list[int]
    shows: str


NO_RUN = FirstRun([], "")


def first_run(space: StateSpace, nodes: int = VISITED) -> FirstRun:
    """A shortest run that violates a promised property; failing that, one in which a packet is held back, if possible
    for one of another link; failing that, or of a computation, one in which everything is delivered. It may be empty.
    `nodes`: of the state space, the nearest to the start; at most `VISITED` are searched. It can be ended early.
    """
    search = partial(_shortest, space, min(nodes, VISITED))
    if space.is_of_a_computation:
        return FirstRun(search(lambda node, _: space.delivers_everything(node)) or [], "the whole computation")
    promised = set(space.promised)
    violation = search(lambda _, effect: not promised.isdisjoint(space.broken_by(effect)))
    if violation is not None:
        return FirstRun(violation, "a shortest run that violates what the protocol promises")
    for alone in (True, False):
        held_back = search(partial(_holds_back, space, alone))
        if held_back is not None:
            return FirstRun(held_back, "a run in which a packet is held back")
    complete = search(lambda node, _: space.delivers_everything(node))
    return FirstRun(complete, "a run in which every message is delivered") if complete else NO_RUN


def _holds_back(space: StateSpace, alone: bool, node: int, _: int) -> bool:
    return space.holds_back(node, alone=alone)


def _shortest(space: StateSpace, most: int, wanted: Callable[[int, int], bool]) -> list[int] | None:
    """The choices of a shortest run to a wanted node, or whose last move, or its end, has a wanted effect."""
    runs: dict[int, list[int]] = {0: []}
    reached = [0]
    for node in reached:
        look()
        flat, at_end = space.moves(node)
        if wanted(node, at_end):
            return runs[node]
        for choice in range(len(flat) // 3):
            _, after, effect = flat[3 * choice : 3 * choice + 3]
            if effect and wanted(after, effect):
                return [*runs[node], choice]
            if after not in runs and len(reached) < most:
                runs[after] = [*runs[node], choice]
                reached.append(after)
    return None
