"""Conformance at random, where there are too many schedules for all of them to be tried.

Each run is a walk to its end: all messages are sent, and all that is in flight has arrived. Every order and property is
decided of each. A run that breaks one is shown without the steps that it does not need. What no run breaks may still be
broken: nothing is said to be kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal, NamedTuple

from crownless.impl.channels import channel_named
from crownless.impl.workloads import Free
from crownless.model_check.properties import DELIVERS_ALL, DELIVERS_ONCE
from crownless.runtime.ending import Limits, look, stoppable, watching
from crownless.spec.computation import Message
from crownless.spec.errors import no_such_name
from crownless.spec.orders import ORDERS, decide, order_named
from crownless.spec.printable import in_brackets, printable, some

from .conformance_request import JUDGED, Request
from .endless import note_endless_packets
from .findings import Answer, Finding, unconfirmed
from .network import Network, WrongNode
from .node import FAILURES, Implementation
from .queries import CERTAIN, Queries
from .walks import FOR_EVER, Failure, Walks

#: Broken by runs as a whole, and not by their order.
OF_DELIVERY = (DELIVERS_ONCE.name, DELIVERS_ALL.name)
#: A node that gets so many inputs for each message of the run is said to get them without end.
INPUTS_A_MESSAGE = 100
#: At most so many answers are repeated by new nodes: each takes as long as all inputs before it.
MOST_REPEATS = 2_000
#: So many messages are sent alone at first, to see whether packets then follow each other without end.
MOST_TRIED = 100
NOT_BROKEN: Literal["not broken"] = "not broken"
#: By which the search of a finding is named.
RANDOM_RUN = "random run"

#: Gets how many runs are made, and how many there are to be.
Progress = Callable[[int, int], None]


@dataclass(repr=False)
class RandomConformance(Answer):
    """The answer of random runs. As a truth value: do they break nothing of what is demanded? It raises `Undecided`
    where not all runs were made, or where new nodes answer otherwise.
    """

    delivery = OF_DELIVERY

    #: By which the runs are chosen, and how many there are to be.
    seed: int = 0
    runs: int = 0
    #: How many were made.
    made: int = 0
    #: All that is broken, each with a run that was made shorter.
    broken: list[Finding] = field(default_factory=list)

    def __repr__(self) -> str:
        return in_brackets(f"{self.name}: {self.verdict} in {some(self.made, 'random run')}")

    def __str__(self) -> str:
        parts = [printable(f"{self.name}: {self.verdict}; {self.scope}")]
        return "\n\n".join([*parts, *(f"{one}\n\n{one.run}" for one in self.violations)])

    def __getitem__(self, name: str) -> Finding:
        """The finding on an order or a property: violated, or unknown. Raises `NoSuchName`, a `KeyError`, if that is
        none of them.
        """
        known = (*FAILURES, *OF_DELIVERY, *JUDGED)
        if name not in known:
            raise no_such_name(f"{self.name}: no property {name!r}", name, known)
        note = f"no run of {self.made:,} breaks it"
        return next((one for one in self.violations if one.name == name), Finding(name, "unknown", note=note))

    @property
    def violations(self) -> list[Finding]:
        return self.broken

    @property
    def verdict(self) -> Literal["violated", "not broken", "unknown"]:
        """Is anything of what is demanded violated? Unknown where not all runs were made."""
        if any(one.verdict == "violated" for one in self.wanted):
            return "violated" if self.unconfirmed is None else "unknown"
        return NOT_BROKEN if self.ended_early is None else "unknown"

    @property
    def scope(self) -> str:
        """In words, what was tried."""
        request = self.request
        free = Free(request.processes, request.messages, self_sends=request.self_sends, sends=request.sends)
        parts = [f"{some(self.made, 'random run')} (seed {self.seed})", free.scope]
        parts.append(f"{request.channel} channel: {channel_named(request.channel).meaning}")
        if request.messages_with_replies:
            parts.append("with replies from inside deliveries")
        return self.scope_of(parts)

    def json(self) -> dict[str, Any]:
        return {
            **super().json(),
            "replies": self.request.messages_with_replies > 0,
            "seed": self.seed,
            "runs": self.made,
            "violations": [one.json() for one in self.violations],
        }


@watching()
def conform_at_random(
    implementation: Implementation,
    request: Request,
    runs: int,
    seed: int = 0,
    limits: Limits | None = None,
    progress: Progress = lambda made, runs: None,
) -> RandomConformance:
    """Takes the nodes through so many random runs; raises `BadInput` for a request that is not possible."""
    for order in request.orders:
        order_named(order)
    channel_named(request.channel)
    began = time.monotonic()
    limits = limits or Limits()
    takes_replies = implementation.takes_replies or not request.messages_with_replies
    request = request if takes_replies else replace(request, replies=0)
    sampling = _Sampling(implementation, request)
    answer = RandomConformance(implementation.name, request, takes_replies=takes_replies, seed=seed, runs=runs)
    with stoppable(limits) as part:
        while answer.made == 0 or sampling.queries.settle():
            sampling.found.clear()
            for number in range(1 if sampling.packets_are_endless() else runs):
                sampling.sample(number + 1, Random(f"{seed} {number}"))
                answer.made = number + 1
                progress(answer.made, runs)
    answer.ended_early = part.reason if answer.made < runs else None
    if any(name in CERTAIN for name in sampling.found):  # beside which no order is a fact
        sampling.found = {name: one for name, one in sampling.found.items() if name in FAILURES}
    with stoppable(limits.for_runs_to_show()):
        for name in sampling.found:
            sampling.shorten(name)
    answer.broken = [sampling.finding(name) for name in (*FAILURES, *OF_DELIVERY, *JUDGED) if name in sampling.found]
    with stoppable(limits.for_runs_to_show()) as part:
        if not any(one.name in CERTAIN for one in answer.violations):
            answer.unconfirmed = unconfirmed(answer.violations, sampling.queries, request)
    if part.reason is not None and answer.violations:
        answer.unconfirmed = f"the runs were not repeated with new nodes: {part.reason}"
    answer.best_effort = implementation.best_effort
    answer.queries, answer.repeats = len(sampling.queries), sampling.queries.repeats
    answer.seconds = time.monotonic() - began
    return answer


class _Found(NamedTuple):
    """What breaks a property: a failure, and the number of the run that showed it first."""

    failure: Failure
    run: int


class _Sampling:
    """The walks that are made, and for each order and property the shortest that breaks it."""

    def __init__(self, implementation: Implementation, request: Request) -> None:
        self.request = request
        most_inputs = max(implementation.limits.inputs, INPUTS_A_MESSAGE * request.messages)
        most_repeats = min(implementation.most_repeats, MOST_REPEATS)
        self.queries = Queries(implementation, most_inputs=most_inputs, most_repeats=most_repeats, before_input=look)
        self.channel = channel_named(request.channel)
        #: How many messages applications send in a run.
        self.messages = request.messages
        self.found: dict[str, _Found] = {}
        self._all = Walks(self._network, None, self.channel.reliable, most=most_inputs * request.processes)

    def _network(self, processes: int, messages: int) -> Network:
        request = self.request
        free = Free(processes, messages, self_sends=request.self_sends, sends=request.sends)
        replies = request.messages_with_replies > 0
        return Network(
            self.queries, free, self.channel, replies=replies, ticks=request.ticks, restarts=request.restarts
        )

    def packets_are_endless(self) -> bool:
        """Do packets follow each other without end after one message? Then one is all that applications send."""
        request = self.request
        channels = Free(request.processes, 1, self_sends=request.self_sends, sends=request.sends).channels
        first = [Message("m1", *channel) for channel in channels[:MOST_TRIED]]
        inputs = self.queries.implementation.limits.inputs
        endless = note_endless_packets(self.queries, first, request.processes, inputs)
        self.messages = 1 if endless else request.messages
        return endless

    def sample(self, number: int, random: Random) -> None:
        """One walk, of which everything is decided."""
        driven, taken, failure = self._all.walk(self.request.processes, self.messages, random)
        if failure is not None:
            self._note(number, _broken_by(failure), failure)
        if driven is None:
            return
        computation = driven.computation
        for order in JUDGED:
            if self._is_new(order, len(taken)) and not decide(computation, order, "pending").kept:
                self._note(number, order, Failure("order", "", "", taken))

    def _is_new(self, name: str, moves: int) -> bool:
        return name not in self.found or moves < len(self.found[name].failure.taken)

    def _note(self, number: int, name: str, failure: Failure) -> None:
        if self._is_new(name, len(failure.taken)):
            self.found[name] = _Found(failure, number)

    def _demanding(self, name: str) -> Walks[Network]:
        return self._all._replace(order=name) if name in ORDERS else self._all

    def shorten(self, name: str) -> None:
        """Leaves out the steps without which the walk breaks it, too."""
        failure, number = self.found[name]
        shorter = self._demanding(name).shrunk(failure, self.request.processes, self.messages)
        self.found[name] = _Found(shorter, number)

    def finding(self, name: str) -> Finding:
        """The violation, with its run."""
        failure, number = self.found[name]
        driven = self._demanding(name).again(self.request.processes, self.messages, failure.taken).driven
        run = None if driven is None else replace(driven.run, breaks=name)
        note = "" if name in ORDERS else failure.problem
        return Finding(name, "violated", _MEANINGS[name], run, f"{RANDOM_RUN} {number:,}", note)


def _broken_by(failure: Failure) -> str:
    if isinstance(failure.error, WrongNode):
        return failure.error.breaks
    return "floods" if failure.kind == FOR_EVER else DELIVERS_ALL.name


_MEANINGS = {
    **FAILURES,
    **{known.name: known.meaning for known in (DELIVERS_ONCE, DELIVERS_ALL)},
    **{name: ORDERS[name].demands for name in JUDGED},
}
