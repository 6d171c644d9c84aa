"""Conformance: a verdict on each order for a foreign implementation, driven over every schedule within a bound.

There are several searches, each a check of the same machine, which share the answers of the nodes, in this order:

- *free sends*: any process may send to any other at any time. FIFO, causal and synchronous order are monitored in every
  run; the other orders are decided of every complete computation, which decides them of all runs where everything is
  delivered in the end, since every run goes on to a complete one. Otherwise they are monitored too;
- *replies*: applications also send from inside deliveries, up to fewer messages; unless free sends break what is
  promised, since that verdict is certain;
- *FIFO channel*, and *duplicates*, up to fewer messages: what the nodes need of their channel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from crownless.impl.channels import channel_named
from crownless.impl.workloads import Free
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult
from crownless.model_check.exploration import Progress
from crownless.model_check.properties import Property
from crownless.model_check.realizing import realize
from crownless.model_check.request import Check
from crownless.runtime.ending import INTERRUPTED, Limits, Stopped, stoppable, watching
from crownless.spec.orders import ORDERS, order_named

from .conformance_request import DELIVERY, DUPLICATES, JUDGED, MONITORED, WITH_REPLIES, Request
from .conformance_result import Conformance, Search
from .endless import note_endless_packets
from .findings import unconfirmed
from .node import FAILURES, Implementation
from .node_machine import NodeMachine, machine_class
from .queries import CERTAIN, Queries


@watching()
def conform(
    implementation: Implementation,
    request: Request,
    limits: Limits | None = None,
    progress: Progress | None = None,
    report: Callable[[str], None] | None = None,
    on_input: Callable[[str, int], None] | None = None,
    on_verdict: Callable[[Conformance], None] | None = None,
) -> Conformance:
    """Drives the nodes over every schedule; raises `BadInput` for a request that is not possible.

    `on_input` gets the name of the search as it begins and before each input to a node, and how many different inputs
    there were; `report` a line if a call lasts long; `on_verdict` the answer as it is with free sends, before replies
    are searched.
    """
    for order in request.orders:
        order_named(order)
    channel_named(request.channel)
    on_input, on_verdict = on_input or (lambda name, inputs: None), on_verdict or (lambda answer: None)
    return _Conforming(implementation, request, limits or Limits(), progress, report, on_input, on_verdict).answer()


def check_of_nodes(
    kind: type[NodeMachine],
    queries: Queries,
    request: Request,
    orders: tuple[str, ...],
    *,
    replies: bool = False,
    only: tuple[Property, ...] = (),
) -> Check:
    """One check of nodes in which applications send freely, within the bounds of the request."""
    free = Free(request.processes, request.messages, self_sends=request.self_sends, sends=request.sends)
    machine = kind(
        request.processes,
        queries,
        free.universe(),
        replies=replies and queries.implementation.takes_replies,
        ticks=request.ticks,
        restarts=request.restarts,
    )
    return Check(machine, channel=request.channel, orders=orders, workload=free, properties=only)


@dataclass
class _Conforming:
    """The searches for one request."""

    implementation: Implementation
    request: Request
    limits: Limits
    progress: Progress | None
    report: Callable[[str], None] | None
    on_input: Callable[[str, int], None]
    on_verdict: Callable[[Conformance], None]

    def __post_init__(self) -> None:
        self.queries = Queries(self.implementation, before_input=self.before_input)
        promises = self.request.orders[-1] if self.request.orders else "asynchronous"
        self.kind = machine_class(self.implementation.name, promises)
        self.began = time.monotonic()
        self.limit_is_reached = False
        #: The search that is made now.
        self.now = "one message"

    def before_input(self) -> None:
        """Ends the search where a limit is reached; from then on the runs to show are looked for, and confirmed."""
        self.on_input(self.now, len(self.queries))
        if not self.limit_is_reached:
            reached = self.limits.reached(time.monotonic() - self.began)
            if reached is not None:
                self.limit_is_reached = True
                raise Stopped(reached)

    def begin(self, name: str) -> None:
        """Notes the search that begins."""
        self.now = name
        self.on_input(name, len(self.queries))

    def limits_left(self) -> Limits:
        """The limits, less the seconds that have gone by."""
        return self.limits.after(time.monotonic() - self.began)

    def answer(self) -> Conformance:
        """The answer of searches whose answers from nodes can be relied on: with free sends first, then the others."""
        answer = self.settled(self.with_free_sends(), self.with_free_sends)
        if answer.failures or answer.ended_early is not None:
            return answer
        replies = self.replies_to_search(answer)
        if replies:
            self.on_verdict(answer)
        if replies or self.request.channels:
            answer = self.settled(self.with_others(answer), lambda: self.with_others(self.with_free_sends()))
        return answer

    def settled(self, answer: Conformance, again: Callable[[], Conformance]) -> Conformance:
        """The answer, searched again as long as answers from nodes turn out to be none."""
        with stoppable(self.limits_left()):
            self.begin("answers repeated by new nodes")
            while answer.ended_early is None and self.queries.settle():
                answer = again()
        return self.confirmed(answer)

    def confirmed(self, answer: Conformance) -> Conformance:
        """The answer, with what nodes that are made anew say of it."""
        if not any(one.name in CERTAIN for one in answer.failures):
            answer.unconfirmed = unconfirmed(answer.violations, self.queries, self.request)
        answer.best_effort = self.implementation.best_effort
        answer.queries, answer.repeats = len(self.queries), self.queries.repeats
        answer.seconds = time.monotonic() - self.began
        return answer

    def with_free_sends(self) -> Conformance:
        """A new answer, of the search with free sends alone."""
        answer = Conformance(self.implementation.name, self.request)
        if self.request.messages_with_replies and not self.implementation.takes_replies:
            answer.request = replace(self.request, replies=0)
            answer.takes_replies = False
        try:
            if self.packets_are_endless():
                self.search(answer.searches, "one message", messages=1, first=True)
            else:
                self.explore(answer.searches, "free sends")
        except _Ended as ending:
            answer.ended_early = str(ending)
        return answer

    def with_others(self, answer: Conformance) -> Conformance:
        """The answer, with sends from inside deliveries, and other channels, unless a node fails."""
        if answer.failures or answer.ended_early is not None:
            return answer
        try:
            if few := self.replies_to_search(answer):
                broken = {one.name for one in answer.violations}
                self.explore(answer.searches, WITH_REPLIES, broken, messages=few, replies=True)
            if self.request.channels:
                self.compare_channels(answer)
        except _Ended as ending:
            answer.ended_early = str(ending)
        return answer

    def replies_to_search(self, answer: Conformance) -> int:
        """Up to how many messages sends from inside deliveries are searched: none where free sends break a promise."""
        return 0 if self.confirmed(answer).verdict == "violated" else answer.request.messages_with_replies

    def packets_are_endless(self) -> bool:
        """Do packets follow each other without end after one message?"""
        request = self.request
        one = Free(request.processes, 1, self_sends=request.self_sends, sends=request.sends)
        inputs = self.implementation.limits.inputs
        try:
            return request.messages > 0 and note_endless_packets(
                self.queries, one.universe(), request.processes, inputs
            )
        except Stopped as ending:
            if str(ending) == INTERRUPTED:
                raise
            return False  # the search that follows ends at this limit, too

    def check(
        self,
        *,
        messages: int | None = None,
        channel: str | None = None,
        orders: tuple[str, ...] = MONITORED,
        replies: bool = False,
        only: tuple[Property, ...] = (),
    ) -> Check:
        request = replace(
            self.request,
            messages=self.request.messages if messages is None else messages,
            channel=channel or self.request.channel,
        )
        return check_of_nodes(self.kind, self.queries, request, orders, replies=replies, only=only)

    def search(self, into: list[Search], name: str, *, first: bool = False, **different: Any) -> CheckResult:
        """One search more. Raises `_Ended` if a limit or an interrupt ends it."""
        self.begin(name)
        result = run_check(self.check(**different), self.limits_left(), self.progress, report=self.report, first=first)
        into.append(Search(name, result))
        if not into[-1].complete:
            raise _Ended(result.exploration.stopped or "the search for runs to show ended early")
        return result

    def explore(self, into: list[Search], name: str, broken: Collection[str] = (), **different: Any) -> None:
        """The search that decides all properties, and those that it takes beside it; `broken` has those that need no
        further run. The orders that are not monitored are decided of complete computations, which decides them of all
        runs if each can be completed.
        """
        result = self.search(into, name, **different)
        if any(result[kind].verdict == "violated" for kind in FAILURES):
            return
        self.begin(f"{name}, complete computations")
        realization = realize(
            self.check(**different),
            limits=self.limits_left(),
            progress=lambda said: self.on_input(f"{self.now}, {said}", len(self.queries)),
        )
        into[-1] = replace(into[-1], realization=realization)
        if realization.stopped:
            raise _Ended(realization.stopped)
        others = [order for order in JUDGED if order not in MONITORED]
        if any(result[known].verdict != "holds" for known in DELIVERY):
            self.search(into, f"{name}, other orders", orders=tuple(others), **different)
            return
        for order in others:
            if order not in broken and realization.orders[order].extra is not None:
                only = (Property(order, "always", ORDERS[order].demands),)
                self.search(into, name, first=True, orders=(order,), only=only, **different)

    def compare_channels(self, answer: Conformance) -> None:
        """What the nodes need of their channel."""
        request = answer.request
        if request.channel == "unordered":
            self.search(answer.over_fifo, "FIFO channel", channel="fifo")
            if answer.replied:
                few = request.messages_with_replies
                self.search(answer.over_fifo, "FIFO channel", channel="fifo", messages=few, replies=True)
        if request.channel in ("unordered", "fifo"):
            wanted = [name for name in request.orders or answer.strongest if name != "asynchronous"]
            at_most = min(request.messages, DUPLICATES)
            self.search(
                answer.with_duplicates,
                "duplicates",
                channel="duplicating",
                messages=at_most,
                orders=tuple(wanted) or ("asynchronous",),
                first=True,
            )


class _Ended(Exception):
    """A search ended early, for this reason: no other one begins."""
