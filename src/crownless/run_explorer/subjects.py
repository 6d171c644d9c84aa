"""The subjects of the run explorer: a protocol, a saved run of one, or a computation in all its linearizations."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.runs.actions import ShownAction
from crownless.model_check.runs.run_diagrams import computation_of_run
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.runs.saved_runs import SAVED_RUNS_HINT, SavedCheck
from crownless.model_check.runs.stepwise import Follower
from crownless.model_check.search.following import cannot_happen, followed
from crownless.model_check.system.properties import AT_ONE_RECEIVER
from crownless.model_check.system.request import Check
from crownless.model_check.system.system import LocalStep
from crownless.oracle.conformance.answers import Answers
from crownless.oracle.conformance.conformance_request import DELIVERY, Request
from crownless.oracle.conformance.node import Implementation
from crownless.oracle.conformance.node_machine import check_of_nodes
from crownless.oracle.conformance.schedules import Schedule
from crownless.oracle.log_orders.classification import as_logged, verdicts
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name, some
from crownless.spec import notation
from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS, Verdict, telling

from .state_space import Names, StateSpace

#: The scope of the page of a computation.
ANY_LINEARIZATION = "in every order that happened-before allows"


class Explored(NamedTuple):
    """A state space, its title on the page, the choices of the run to begin with, its check, and what that run shows;
    without choices the page chooses a run.
    """

    space: StateSpace
    title: str
    start: list[int]
    check: Check
    shows: str = ""


def of_check(check: Check) -> Explored:
    """A protocol; unless orders are requested, with all that can be decided."""
    requested, check = check.orders, _with_orders(check)
    space = StateSpace(check.resolve(), requested=requested)
    return Explored(space, f"{space.check.protocol}: every run, step by step", [], check)


def of_computation(named: NamedComputation) -> Explored:
    """A computation or a run of a log, whose events happen in any order that happened-before allows. It begins with the
    order that the log recorded.
    """
    c, is_logged = named.computation, bool(named.event_lines)
    shows = "the order in which the log has these events" if is_logged else "one order of all events"
    lacks = f"; the log has {some(len(named.holes), 'hole')}, and the page what is certain" if named.holes else ""
    events = (
        (c.process_of[e], event.kind.replace("receive", "deliver"), c.messages[event.message].name)
        for e, event in ((e, c.events[e]) for e in named.recorded_order)
        if event.message is not None
    )

    uncertain = _uncertain_orders(named)

    def undecided(name: str) -> str | None:
        return uncertain.get(name) or as_logged(named, Verdict(name, kept=True), "pending").unknown

    name = named.run or printable_name(named.file)
    return _every_linearization(c, name, events, shows, lacks, undecided, uncertain)


def _uncertain_orders(named: NamedComputation) -> dict[str, str]:
    """The orders that are violated only by an order of events that the log does not show, and why that is unknown."""
    if not named.uncertain.unordered:
        return {}
    return {one.order: one.because for one in verdicts(named, ORDERS, "pending") if one.outcome == "unknown"}


def _every_linearization(
    c: Computation,
    name: str,
    begin: Iterable[tuple[int, str, str]],
    shows: str = "",
    lacks: str = "",
    undecided: Callable[[str], str | None] = lambda name: None,
    uncertain: Collection[str] = (),
) -> Explored:
    """A computation, beginning with its events in that order, each by process, kind, and name of the message."""
    script, messages = _plain_script(c)
    check = _with_orders(Check(protocol="unordered", program=script))
    scope = f"{some(len(c.processes), 'process')}, {some(len(c.messages), 'message')}, {ANY_LINEARIZATION}{lacks}"
    names = Names(c.processes, messages, scope, undecided, uncertain)
    space = StateSpace(check.resolve(), names)  # another one, in which nodes are numbered as they come
    start, node = list[int](), 0
    for event in begin:
        choice, node = _move_of(space, node, event)
        start.append(choice)
    title = f"{name}: every linearization, step by step"
    return Explored(StateSpace(check.resolve(), names), title, start, check, shows * bool(start))


def _plain_script(c: Computation) -> tuple[notation.Script, dict[str, str]]:
    """The script of a computation with arbitrary names, using plain names; and the own names of messages by these."""
    processes = tuple(f"P{p}" for p in range(1, len(c.processes) + 1))
    plain = [f"m{m}" for m in range(1, len(c.messages) + 1)]
    messages = tuple(message._replace(name=name) for message, name in zip(c.messages, plain, strict=True))
    script = notation.of_computation(Computation(processes, messages, c.lines))
    return script, {name: message.name for name, message in zip(plain, c.messages, strict=True)}


def of_nodes(implementation: Implementation, request: Request, schedule: Schedule | None = None) -> Explored:
    """The nodes of a foreign implementation; with a schedule, its run to begin with, and its bounds. Raises `BadInput`
    if the schedule cannot be followed.
    """
    orders = tuple(request.orders) or tuple(name for name in telling(unicasts=True) if name != "asynchronous")
    replies = schedule is not None and schedule.replies
    answers = Answers(implementation)
    check = check_of_nodes(answers, request, orders, replies=replies)
    promised = [name for name in DELIVERY if name in (implementation.promises or DELIVERY)]
    promised += request.orders or [name for name in ORDERS if name in implementation.promises]
    unpromised = {*ORDERS, *DELIVERY}.difference(promised)
    resolved = replace(check.resolve(), protocol=implementation.name)
    space = StateSpace(resolved, unpromised=unpromised, undecided=answers.undecided)
    actions = () if schedule is None else schedule.actions
    start = _choices_by_nodes(space, actions)
    return Explored(space, f"{implementation.name}: every run, step by step", start, check)


def of_saved_run(saved: SavedCheck, run: Run, name: str, protocol: str | None = None) -> Explored:
    """A run that `check --json` printed, in the state space in which it was found; if the check is unknown, as for an
    implementation, in all linearizations of what the application sees. `protocol`: use its state space, instead of
    that of the protocol named there. Raises `BadInput` if there is none.
    """
    if saved.processes is None and protocol is None:
        return _of_recorded_run(saved, run, name)
    check = _check_of(saved, protocol)
    start = choices_of(StateSpace(check.resolve()), run)  # another one, in which nodes are numbered as they come
    space = StateSpace(check.resolve(), requested=(name,))
    return Explored(space, f"{saved.protocol} violates {name}, step by step", start, check)


def _of_recorded_run(saved: SavedCheck, run: Run, name: str) -> Explored:
    c = computation_of_run(run)
    if c is None:
        raise BadInput("this run is not a valid computation", hint="draw the run: crownless show")
    events = (
        (run.processes.index(action.process), kind, message)
        for action in run.actions
        for kind, message in action.happened
    )
    title = f"{saved.protocol} violates {name}: its computation, step by step"
    return _every_linearization(c, name, events)._replace(title=title)


def _move_of(space: StateSpace, node: int, event: tuple[int, str, str]) -> tuple[int, int]:
    """The choice by which an event happens, and the node after it."""
    flat, _ = space.moves(node)
    for choice in range(len(flat) // 3):
        process, *_, happened, _, _, _, _ = space.step_rows[flat[3 * choice]]
        if [(process, kind, space.message_rows[message]) for kind, message in happened] == [event]:
            return choice, flat[3 * choice + 1]
    raise BadInput(f"{event[1]} {event[2]} cannot happen there", hint="draw the run: crownless show")


def with_variables(saved: SavedCheck, run: Run, protocol: str | None = None) -> Run:
    """The same run, replayed, so that its local states are known; raises `BadInput` if it cannot be replayed.

    `protocol`: whose run it is, such as `file.py:Class`; needed for a protocol that is not bundled.
    """
    follower = followed(_check_of(saved, protocol).resolve().system(), run)
    steps, stem = follower.steps, len(run.actions)
    found = run_of(follower.system, steps[:stem], end=follower.visited[stem][0], loop=steps[stem:])
    return replace(found, breaks=run.breaks)


def _check_of(saved: SavedCheck, protocol: str | None = None) -> Check:
    if saved.processes is None:
        raise BadInput("the saved run does not record its check", hint=SAVED_RUNS_HINT)
    if protocol is None and saved.protocol not in PROTOCOLS:  # a file of runs is data and must not start a user's code
        name = printable_name(saved.protocol)
        hint = f"name it: crownless explore {name} --replay FILE, or crownless show FILE --variables --protocol {name}"
        raise BadInput(f"the code of {printable_name(saved.protocol)}, which made the run, is not loaded", hint=hint)
    free = saved.program is None
    check = Check(
        protocol=protocol or saved.protocol,
        processes=saved.processes if free else None,
        messages=saved.messages if free else None,
        program=saved.program,
        channel=saved.channel,
        sends=saved.sends if free else None,
        self_sends=saved.self_sends if free else False,
        crash=saved.crash,
        parameters=saved.parameters,
    )
    return _with_orders(check)


def choices_of(space: StateSpace, run: Run) -> list[int]:
    """The choices that make a run, without its loop; raises `BadInput` with its first action that cannot happen."""
    return _choices(space, followed(space.system, run).steps[: len(run.actions)])


def _choices_by_nodes(space: StateSpace, actions: Iterable[ShownAction]) -> list[int]:
    """The choices that make a run of nodes, whose outcomes may differ now."""
    follower = Follower(space.system)
    for number, action in enumerate(actions, 1):
        if follower.follow(action, exactly=False) is None:
            raise cannot_happen(number, action)
    return _choices(space, follower.steps)


def _choices(space: StateSpace, steps: Iterable[LocalStep]) -> list[int]:
    node, choices = 0, list[int]()
    for step in steps:
        choices.append(space.choice_of(node, step))
        node = space.moves(node)[0][3 * choices[-1] + 1]
    return choices


def _with_orders(check: Check) -> Check:
    return check if check.orders else replace(check, orders=_orders(check.resolve().machine))


def _orders(machine: ProtocolMachine) -> tuple[str, ...]:
    """The orders of any messages, if they can be decided for this protocol, and those that it promises."""
    if machine.ordered_at is not None:
        return AT_ONE_RECEIVER
    promised = promised_orders(type(machine))
    return tuple(name for name in ORDERS if name != "asynchronous" and name in {*telling(unicasts=True), *promised})
