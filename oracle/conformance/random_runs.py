"""Conformance at random, for systems with too many schedules to try them all.

Each run is a complete walk: all messages are sent, and all packets have arrived. Every order and property is decided
for each. A violating run is shown without unnecessary steps. A property that no run violates may still be violated:
nothing is reported as kept.
"""

from dataclasses import replace
from functools import cache, partial
from random import Random

from crownless.impl.channels import channel_named
from crownless.model_check.check.check_result import PropertyResult
from crownless.model_check.runs.runs import wrong_event
from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE, DELIVERS_SOMETHING, NEVER_BLOCKS
from crownless.model_check.system.request import ResolvedCheck
from crownless.spec.orders import ORDERS, decide

from .answers import Answers
from .conformance_request import Request
from .conformance_result import PROPERTIES
from .network import Network, WrongNode
from .node import FAILURES, VARYING
from .node_machine import check_of_walks
from .walks import FOR_EVER, Failure, Walks


class Sampling:
    """The walks made, and for each order and property the shortest that violates it."""

    def __init__(self, answers: Answers, request: Request, most_inputs: int) -> None:
        self.request = request
        #: The number of messages that applications send in a run.
        self.messages = request.messages
        self.made = 0
        #: True if a message was delivered in one of the walks.
        self.delivers = False
        #: The violation of each property, and the number of the run that showed it first.
        self.found: dict[str, tuple[Failure, int]] = {}

        @cache
        def check(processes: int, messages: int) -> ResolvedCheck:
            return check_of_walks(answers, replace(request, processes=processes, messages=messages))

        def new(processes: int, messages: int, delivers_once: bool) -> Network:
            return Network(check(processes, messages).system(), delivers_once=delivers_once)

        promised = DELIVERS_ONCE.name in request.delivery
        reliable = channel_named(request.channel).reliable
        self._new = new
        self._all = Walks(partial(new, delivers_once=promised), None, reliable, most=most_inputs * request.processes)

    def sample(self, number: int, random: Random) -> None:
        """Makes one walk and decides everything on it."""
        driven, taken, failure = self._all.walk(self.request.processes, self.messages, random)
        self.made = number
        if failure is not None:
            self._note(number, _violated_by(failure), failure)
        if driven is None:
            return
        self.delivers |= driven.delivers
        if DELIVERS_ONCE.name in driven.violated:
            self._note(number, DELIVERS_ONCE.name, Failure(DELIVERS_ONCE.name, wrong_event(driven.run), "", taken))
        computation = driven.computation
        for order in self.request.judged:
            if self._is_new(order, len(taken)) and not decide(computation, order, "pending").kept:
                self._note(number, order, Failure("order", "", "", taken))

    def _is_new(self, name: str, moves: int) -> bool:
        return name not in self.found or moves < len(self.found[name][0].taken)

    def _note(self, number: int, name: str, failure: Failure) -> None:
        if self._is_new(name, len(failure.taken)):
            self.found[name] = failure, number

    def shortened(self) -> tuple[PropertyResult, ...]:
        """The lines, after unnecessary steps were removed from the walks."""
        if any(name in self.found for name in VARYING):  # then no order is certain
            self.found = {name: one for name, one in self.found.items() if name in FAILURES}
        for name, (failure, number) in self.found.items():
            walks = self._demanding(name)
            self.found[name] = walks.shrunk(failure, self.request.processes, self.messages), number
        return self.lines()

    def lines(self) -> tuple[PropertyResult, ...]:
        """A line for each property: violated, or unknown."""
        undecided = {NEVER_BLOCKS.name, *ORDERS}.difference(self.request.judged)
        return tuple(self._line(name) for name in PROPERTIES if name not in undecided)

    def _line(self, name: str) -> PropertyResult:
        if name == DELIVERS_SOMETHING.name and self.delivers:
            return PropertyResult(PROPERTIES[name], "holds")
        if name == DELIVERS_SOMETHING.name:
            return PropertyResult(PROPERTIES[name], "unknown", note=f"no run of {self.made:,} reaches it")
        if name not in self.found:
            return PropertyResult(PROPERTIES[name], "unknown", note=f"no run of {self.made:,} violates it")
        failure, _ = self.found[name]
        driven = self._demanding(name).again(self.request.processes, self.messages, failure.taken).driven
        run = None if driven is None else replace(driven.run, breaks=name)
        return PropertyResult(PROPERTIES[name], "violated", run, "" if name in ORDERS else failure.problem)

    def _demanding(self, name: str) -> Walks[Network]:
        if name == DELIVERS_ONCE.name:
            return self._all._replace(new=partial(self._new, delivers_once=True))
        return self._all._replace(order=name) if name in ORDERS else self._all


def _violated_by(failure: Failure) -> str:
    if isinstance(failure.error, WrongNode):
        return failure.error.breaks
    return "floods" if failure.kind == FOR_EVER else DELIVERS_ALL.name
