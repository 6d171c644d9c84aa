"""The subjects of the run explorer: a protocol, a saved run of one, or a computation in all its linearizations."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.request import Check, load_program
from crownless.model_check.runs.run_diagrams import computation_of_run
from crownless.model_check.runs.runs import Run, ShownAction, run_of
from crownless.model_check.runs.saved_runs import SAVED_RUNS_HINT, SavedCheck
from crownless.model_check.system.properties import AT_ONE_RECEIVER
from crownless.oracle.conformance.answers import Answers
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.node import Implementation
from crownless.oracle.conformance.node_machine import check_of_nodes
from crownless.oracle.conformance.schedules import Follower, Schedule, cannot_be_taken
from crownless.spec import notation
from crownless.spec.computation import Computation
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS
from crownless.spec.printable import printable_name, some

from .state_space import BEYOND, Names, StateSpace

#: What the page of a computation has.
ANY_LINEARIZATION = "in every order that happened-before allows"


class Explored(NamedTuple):
    """A state space, what the page calls it, the choices of the run to begin with, and the check that it is of."""

    space: StateSpace
    title: str
    start: list[int]
    check: Check


def of_check(check: Check) -> Explored:
    """A protocol; where no orders are requested, with all of which anything can be said."""
    check = _with_orders(check)
    space = StateSpace(check.resolve())
    return Explored(space, f"{space.check.protocol}: every run, step by step", [], check)


def of_computation(c: Computation, name: str) -> Explored:
    """A computation or a run of a log: its events happen in any order that happened-before allows."""
    script, messages = _plain_script(c)
    check = _with_orders(Check(protocol="unordered", program=script))
    scope = f"{some(len(c.processes), 'process')}, {some(len(c.messages), 'message')}, {ANY_LINEARIZATION}"
    space = StateSpace(check.resolve(), Names(c.processes, messages, scope))
    return Explored(space, f"{name}: every linearization, step by step", [], check)


def _plain_script(c: Computation) -> tuple[notation.Script, dict[str, str]]:
    """The script of a computation whose names may be any, with plain names; and the messages' own names by these."""
    processes = tuple(f"P{p}" for p in range(1, len(c.processes) + 1))
    plain = [f"m{m}" for m in range(1, len(c.messages) + 1)]
    messages = tuple(message._replace(name=name) for message, name in zip(c.messages, plain, strict=True))
    script = notation.of_computation(Computation(processes, messages, c.lines))
    return script, {name: message.name for name, message in zip(plain, c.messages, strict=True)}


def of_nodes(implementation: Implementation, request: Request, schedule: Schedule | None = None) -> Explored:
    """The nodes of a foreign implementation; with a schedule, its run to begin with, and its bounds. Raises `BadInput`
    if the schedule cannot be followed.
    """
    orders = request.orders or tuple(order for order in ORDERS if order != "asynchronous")
    replies = schedule is not None and schedule.replies
    check = check_of_nodes(Answers(implementation), request, orders, replies=replies)
    space = StateSpace(replace(check.resolve(), protocol=implementation.name))
    start: list[int] = []
    node = 0
    follower = Follower(space.system)
    for number, step in enumerate(() if schedule is None else schedule.steps, 1):
        if follower.follow(step) is None:
            hint = "nodes that are no longer wrong may not follow it: see 'conform --replay'"
            raise BadInput(f"step {number} of the schedule: {cannot_be_taken(step)}", hint=hint)
        start.append(space.choice_of(node, follower.steps[-1]))
        node = space.moves(node)[0][3 * start[-1] + 1]
    return Explored(space, f"{implementation.name}: every run, step by step", start, check)


def of_saved_run(saved: SavedCheck, run: Run, name: str, protocol: str | None = None) -> Explored:
    """A run that `check --json` printed, in the state space in which it was found; where the check is not known, as of
    an implementation, in all linearizations of what the application sees. `protocol`: in the state space of that one,
    instead of the one that is named there. Raises `BadInput` if there is none.
    """
    if saved.processes is None and protocol is None:
        return _of_recorded_run(saved, run, name)
    check = _check_of(saved, protocol)
    start = choices_of(StateSpace(check.resolve()), run)  # another one, in which nodes are numbered as they come
    return Explored(StateSpace(check.resolve()), f"{saved.protocol} breaks {name}, step by step", start, check)


def _of_recorded_run(saved: SavedCheck, run: Run, name: str) -> Explored:
    c = computation_of_run(run)
    if c is None:
        raise BadInput("what its application sees is no computation", hint="draw the run: crownless show")
    explored = of_computation(c, name)
    space = of_computation(c, name).space
    start, node = [], 0
    for action in run.actions:
        for kind, message in action.happened:
            choice, node = _move_of(space, node, (run.processes.index(action.process), kind, message))
            start.append(choice)
    title = f"{saved.protocol} breaks {name}: its computation, step by step"
    return explored._replace(title=title, start=start)


def _move_of(space: StateSpace, node: int, event: tuple[int, str, str]) -> tuple[int, int]:
    """The choice by which an event happens, and the node after it."""
    flat, _ = space.moves(node)
    for choice in range(len(flat) // 3):
        process, *_, happened, _, _ = space.step_rows[flat[3 * choice]]
        if [(process, kind, space.message_rows[message]) for kind, message in happened] == [event]:
            return choice, flat[3 * choice + 1]
    raise BadInput(f"{event[1]} {event[2]} cannot happen there", hint="draw the run: crownless show")


def with_variables(saved: SavedCheck, run: Run) -> Run:
    """The same run, made once more, so that its local states are known; raises `BadInput` if it cannot be made."""
    space = StateSpace(_check_of(saved).resolve())
    steps, node = [], 0
    for choice in choices_of(space, run):
        steps.append(space.step(node, choice))
        node = space.moves(node)[0][3 * choice + 1]
    return run_of(space.system, steps, keep_names=saved.program is not None)


def _check_of(saved: SavedCheck, protocol: str | None = None) -> Check:
    if saved.processes is None:
        raise BadInput("the run does not say of which check it is", hint=SAVED_RUNS_HINT)
    if protocol is None and saved.protocol not in PROTOCOLS:  # a file of runs is data, which starts nobody's code
        hint = f"name the protocol: crownless explore {printable_name(saved.protocol)} --replay FILE"
        raise BadInput(f"the run is of {printable_name(saved.protocol)}, whose code is not here", hint=hint)
    free = saved.program is None
    check = Check(
        protocol=protocol or saved.protocol,
        processes=saved.processes if free else None,
        messages=saved.messages if free else None,
        program=None if saved.program is None else load_program(saved.program),
        channel=saved.channel,
        sends=saved.sends if free else None,
        self_sends=saved.self_sends if free else False,
        crash=saved.crash,
        parameters=saved.parameters,
    )
    return _with_orders(check)


def choices_of(space: StateSpace, run: Run) -> list[int]:
    """The choices that make a run; raises `BadInput` with its first action that cannot happen."""
    node, choices = 0, []
    names: dict[str, int] = {}
    for number, action in enumerate(run.actions, 1):
        flat, _ = space.moves(node)
        found = next(
            (choice for choice in range(len(flat) // 3) if _is(space, flat[3 * choice], action, run, names)), None
        )
        if found is None:
            raise BadInput(
                f"action {number} of the run, {action.say()}, cannot happen there",
                hint="was it saved by another version of the protocol? check it again",
            )
        choices.append(found)
        node = flat[3 * found + 1]
        assert node != BEYOND, "a state space that is searched has every node"
        _note_names(space, flat[3 * found], action, names)
    return choices


def _is(space: StateSpace, step: int, action: ShownAction, run: Run, names: dict[str, int]) -> bool:
    """Is this step that action? Messages that were not there before may be any that have not got a name yet."""
    process, name, message, packet, to, transmits, *_ = space.step_rows[step]
    if (run.processes[process], name) != (action.process, action.action):
        return False
    if (message == -1) != (action.message is None) or len(transmits) != len(action.transmits):
        return False
    if action.message is not None:
        known = names.get(action.message)
        if known != message if known is not None else message in names.values():
            return False
    if action.to and [run.processes[q] for q in to] != list(action.to):
        return False
    if (packet == -1) != (action.packet is None):
        return False
    if action.packet is None:
        return True
    kind, _, source, *_ = space.packet_rows[packet]
    return (kind, run.processes[source]) == (action.packet.kind, action.packet.source)


def _note_names(space: StateSpace, step: int, action: ShownAction, names: dict[str, int]) -> None:
    """The messages that the action names, in the order in which both name them."""
    _, _, message, _, _, transmits, happened, *_ = space.step_rows[step]
    if action.message is not None:
        names.setdefault(action.message, message)
    for packet, shown in zip(transmits, action.transmits, strict=True):
        if shown.message is not None:
            names.setdefault(shown.message, space.packet_rows[packet][1])
    for (_, which), (_, called) in zip(happened, action.happened, strict=False):
        names.setdefault(called, which)


def _with_orders(check: Check) -> Check:
    return check if check.orders else replace(check, orders=_orders(check.resolve().machine))


def _orders(machine: ProtocolMachine) -> tuple[str, ...]:
    """All of which something can be said of this protocol."""
    if machine.ordered_at is not None:
        return AT_ONE_RECEIVER
    return tuple(order for order in ORDERS if order != "asynchronous")
