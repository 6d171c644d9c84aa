"""Saved runs, followed: a search for the outcomes of the actions where a run does not record them.

An action can have several outcomes. A run records the number of each, so that it can be followed in one way only. For a
run without them, as in files of earlier versions, this looks for outcomes that lead to all the rest of the run, and to
the violation that it was saved for.
"""

from collections.abc import Hashable

from crownless.model_check.runs.actions import ShownAction
from crownless.model_check.runs.runs import Run
from crownless.model_check.runs.stepwise import Follower
from crownless.model_check.system.system import System
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name

from .explorer import LocalProperties, live_properties_violated

HINT = "was it saved by another version of it? check it again; of nodes, see 'conform --replay'"
#: The most situations that are tried for a run that does not record its outcomes.
MOST_TRIED = 20_000


def followed(system: System, run: Run) -> Follower:
    """The steps of a run, and those of its loop; raises `BadInput` if they cannot happen there, or if no outcomes of
    its actions violate its property.
    """
    actions = [*run.actions, *run.loop]
    open_ends, tried = [Follower(system)], set[Hashable]()
    undecided: list[Follower] = []
    longest, ambiguous = 0, False
    while open_ends:
        follower = open_ends.pop()
        longest = max(longest, at := len(follower.steps))
        if at == len(actions):
            violates = _violates(follower, run)
            if violates:
                return follower
            undecided += [follower] if violates is None else []
            continue
        moves = follower.moves_of(actions[at])
        ambiguous |= len(moves) > 1
        ways = [follower, *(follower.copy() for _ in moves[1:])]
        for way, move in reversed(list(zip(ways, moves, strict=False))):
            way.take_as(actions[at], move)
            situation = way.situation, *way.visited[len(run.actions) : len(run.actions) + 1]
            if situation not in tried:
                tried.add(situation)
                open_ends.append(way)
        if len(tried) > MOST_TRIED:
            raise BadInput("the run does not record its outcomes, and there are too many to try", hint="check it again")
    if undecided and not ambiguous:
        return undecided[0]
    if longest == len(actions):
        raise BadInput(f"the run does not violate {printable_name(run.breaks or '')} there", hint=HINT)
    raise cannot_happen(longest + 1, actions[longest])


def cannot_happen(number: int, action: ShownAction) -> BadInput:
    """The error for the first action of a run that cannot happen."""
    return BadInput(f"action {number} of the run, {action.say()}, cannot happen there", hint=HINT)


def _violates(follower: Follower, run: Run) -> bool | None:
    """True if the run was saved for no violation, or violates its property; None if that is not known, as
    for a property that this system does not watch.
    """
    name, system, (state, monitor_state) = run.breaks, follower.system, follower.visited[-1]
    if name is None:
        return True
    if run.loop:
        return follower.visited[len(run.actions)] == (state, monitor_state)
    local = LocalProperties(system)
    if name in follower.violated or any(name in local.of(x.action.process, x.local)[0] for x in follower.steps):
        return True
    moves = system.moves(state)
    if system.may_end(moves) and name in live_properties_violated(system, state, monitor_state, moves):
        return True
    watched = {*system.machine.invariants, *(name for monitor in system.monitors for name in monitor.watches)}
    return False if name in watched else None
