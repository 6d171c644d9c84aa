"""Conformance: a verdict on each order for a foreign implementation, driven over every schedule within a bound.

There are two searches of the same machine, which share the answers of the nodes:

- *free sends*: any process may send to any other at any time. FIFO, causal and synchronous order are monitored in every
  run; the other orders are decided on complete computations. If everything is eventually delivered, that covers all
  runs, since every run extends to a complete one; otherwise they are monitored too;
- *replies*: applications also send from inside deliveries, with fewer messages; skipped if free sends already violate
  a claimed order, since that verdict is certain.

If orders are claimed, the shortest runs that violate others are searched for last: no verdict waits for them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from crownless.impl.channels import channel_named
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult, PropertyResult
from crownless.model_check.search.engines import Engine
from crownless.model_check.search.realizing import realize
from crownless.model_check.system.exploration import Exploration, Progress
from crownless.model_check.system.properties import Property
from crownless.runtime.ending import Limits, Stopped, look, stoppable, watching
from crownless.runtime.errors import BadInput
from crownless.spec.orders import ORDERS, order_named, refuse_where_all_keep

from .answers import Answers
from .conformance_request import DELIVERY, WITH_REPLIES, Request
from .conformance_result import PROPERTIES, Conformance, Searched, as_promised, merged
from .network import Network, WrongNode
from .node import FAILURES, Implementation, NodeFailure, Query
from .node_machine import check_of_nodes, check_of_walks
from .random_runs import Sampling

#: The most answers of random runs that are repeated: each takes as long as all inputs before it.
MAX_REPEATS_AT_RANDOM = 2_000
#: The number of inputs for each message of a random run after which a node is said to get them without end.
INPUTS_A_MESSAGE = 100
#: The most messages that are first sent alone, to detect packets that follow each other without end.
MAX_TRIED = 100


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
    """Drives the nodes over every schedule; raises `BadInput` for an impossible request.

    `on_input` gets the search's name and the number of different inputs so far, at its start and before each input to a
    node; `report` a line if a call lasts long; `on_verdict` the result for free sends, before replies are searched.
    """
    on_input = on_input or (lambda name, inputs: None)
    conforming = _Conforming(implementation, request, limits or Limits(), progress, report, on_input)
    result = conforming.settled(1)
    few = conforming.request.messages_with_replies
    if few and result.verdict != "violated" and not result.failures and result.ended_by is None:
        if on_verdict is not None:
            on_verdict(result)
        result = conforming.settled(2)
    return conforming.with_other_runs(result)


@watching()
def conform_at_random(
    implementation: Implementation,
    request: Request,
    runs: int,
    seed: int = 0,
    limits: Limits | None = None,
    progress: Callable[[int, int], None] = lambda made, runs: None,
) -> Conformance:
    """Takes the nodes through `runs` random runs; raises `BadInput` for an impossible request."""
    began = time.monotonic()
    most_inputs = max(implementation.limits.inputs, INPUTS_A_MESSAGE * request.messages)
    most_repeats = min(implementation.most_repeats, MAX_REPEATS_AT_RANDOM)
    answers = Answers(implementation, most_inputs=most_inputs, most_repeats=most_repeats, before_input=look)
    check = check_of_nodes(answers, request, request.judged)
    request = _possible(implementation, request)
    sampling = Sampling(answers, request, most_inputs)
    with stoppable(limits) as part:
        if packets_are_endless(answers, request):
            sampling.messages, runs = 1, MAX_TRIED
        while sampling.made == 0 or answers.settle():
            sampling.found.clear()
            for number in range(runs):
                sampling.sample(number + 1, Random(f"{seed} {number}"))
                progress(sampling.made, runs)
    unconfirmed: str | None = None
    with stoppable((limits or Limits()).for_runs_to_show()) as second:
        lines = sampling.shortened()
        unconfirmed = None if answers.vary else _unconfirmed(lines, answers)
    if second.reason is not None:
        unconfirmed = f"the runs were not repeated with new nodes: {second.reason}"
        lines = sampling.lines()
    return Conformance(
        check.resolve(),
        Exploration(),
        as_promised(lines, request),
        time.monotonic() - began,
        Engine("plain"),
        request=request,
        runs=runs,
        made=sampling.made,
        found_by={name: run for name, (_, run) in sampling.found.items()},
        queries=len(answers),
        repeats=answers.repeats,
        unconfirmed=unconfirmed,
        ended_by=part.reason,
        pending=answers.pending,
        best_effort=implementation.best_effort,
        takes_replies=request.replies != 0 or implementation.takes_replies,
    )


def _possible(implementation: Implementation, request: Request) -> Request:
    """The request, with what the nodes promise, and without replies if they take none. Raises `BadInput` for an
    impossible one.
    """
    if implementation.promises:
        orders = request.orders or tuple(name for name in ORDERS if name in implementation.promises)
        request = replace(request, orders=orders, delivery=tuple(n for n in DELIVERY if n in implementation.promises))
    for order in request.orders:
        order_named(order)
    refuse_where_all_keep(request.orders, unicasts=request.sends == "unicast")
    channel_named(request.channel)
    if not implementation.takes_steps and (request.ticks or request.restarts):
        said = "--ticks and --restarts: Maelstrom has no messages for them"
        raise BadInput(said, hint="leave them out, or write an adapter with a line-based interface")
    return request if implementation.takes_replies else replace(request, replies=0)


def packets_are_endless(answers: Answers, request: Request, before_input: Callable[[], None] = lambda: None) -> bool:
    """Sends each message alone, and passes packets on in transmission order. True if nodes then get more inputs than
    the limit: the first packet that was answered by packets is noted as the flooding one.
    """
    alone = Answers(answers.nodes, before_input=before_input)  # others, which need not be repeated
    one = replace(request, messages=1, ticks=0, restarts=0)
    free = Free(one.processes, 1, self_sends=one.self_sends, sends=one.sends)
    tried = range(min(len(free.channels), MAX_TRIED))
    floods = [found for channel in tried if (found := _answered_without_end(alone, one, channel)) is not None]
    for query, failure in floods:
        answers.fails(query, failure)
    return bool(floods)


def _answered_without_end(answers: Answers, request: Request, channel: int) -> tuple[Query, NodeFailure] | None:
    """The first packet answered by packets, if that continues without end after a message on this channel."""
    network = Network(check_of_walks(answers, request).system())
    most = answers.nodes.limits.inputs * request.processes
    try:
        network.moves()[channel].happen()
        for _ in range(most):
            moves = [move for move in network.moves() if move.kind == "step"]
            if not moves:
                return None
            moves[0].happen()
    except WrongNode as wrong:
        if wrong.breaks != "floods":
            return None
    first = next((step for step in network.steps if step.packets and step.action.packet is not None), None)
    if first is None:  # the flood is one answer to the send, which the search reports
        return None
    query = first.action.process, network.system.state_after(first).history
    said = f"after that message alone the nodes received {most:,} inputs, and more are pending"
    return query, NodeFailure("floods", f"its packets are answered by packets without end: {said}")


class _Ended(Exception):
    """A search ended early for this reason; no further one begins."""


@dataclass
class _Conforming:
    """The searches for one request."""

    implementation: Implementation
    request: Request
    limits: Limits
    progress: Progress | None
    report: Callable[[str], None] | None
    on_input: Callable[[str, int], None]
    searches: list[Searched] = field(default_factory=list)
    #: The current search.
    now: str = "one message"
    #: Searches for runs that violate an order which is not claimed, with the results to which theirs belong.
    others: list[tuple[list[CheckResult], Callable[[], None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.takes_replies = self.implementation.takes_replies or not self.request.messages_with_replies
        self.request = _possible(self.implementation, self.request)
        self.answers = Answers(self.implementation, before_input=self.before_input)
        self.began = time.monotonic()
        self.limit_is_reached = False

    def before_input(self) -> None:
        """Ends the search at a limit; after that the runs to show are computed and confirmed."""
        self.on_input(self.now, len(self.answers))
        if not self.limit_is_reached:
            reached = self.limits.reached(time.monotonic() - self.began)
            if reached is not None:
                self.limit_is_reached = True
                raise Stopped(reached)

    def limits_left(self) -> Limits:
        """The limits, less the elapsed seconds."""
        return self.limits.after(time.monotonic() - self.began)

    def settled(self, searches: int) -> Conformance:
        """The result of the first searches, repeated if some answers turn out to be invalid."""
        ended = self.search(searches)
        ends_here = True
        with stoppable(self.limits_left()) as part:
            self.begin("answers repeated by new nodes")
            while ended is None and self.answers.settle():
                self.searches.clear()
                self.others.clear()
                ended = self.search(searches)
            ends_here = False
        return self.result(part.reason if ends_here else ended)

    def with_other_runs(self, result: Conformance) -> Conformance:
        """The result, with runs that violate orders which are not claimed, as many as the limits allow."""
        if not self.others or result.ended_by is not None:
            return result
        self.begin("runs that violate other orders")
        for results, search in self.others:
            known = len(results)
            try:
                search()
            except _Ended:
                del results[known:]
                break
        return self.result(None)

    def result(self, ended: str | None) -> Conformance:
        """The result of all searches so far."""
        lines = merged(self.searches, self.request, ended, self.answers.pending)
        first = self.searches[0].results[0]
        return Conformance(
            first.check,
            first.exploration,
            as_promised(lines, self.request),
            time.monotonic() - self.began,
            first.engine,
            request=self.request,
            searches=tuple(self.searches),
            queries=len(self.answers),
            repeats=self.answers.repeats,
            unconfirmed=None if self.answers.vary else _unconfirmed(lines, self.answers),
            ended_by=ended,
            pending=self.answers.pending,
            best_effort=self.implementation.best_effort,
            takes_replies=self.takes_replies,
        )

    def search(self, searches: int) -> str | None:
        """Makes the remaining ones of the first searches; returns why they ended early, or None."""
        try:
            if not self.searches:
                self.begin("one message")
                if self._packets_are_endless():
                    self.searches.append(Searched("one message", []))
                    self.check(replace(self.request, messages=1), first=True)
                    return None
                self.explore("free sends", self.request)
            fails = any(map(self.searches[0].breaks, FAILURES))
            if searches == 2 and len(self.searches) == 1 and not fails:
                few = replace(self.request, messages=self.request.messages_with_replies)
                self.explore(WITH_REPLIES, few, replies=True)
        except _Ended as ending:
            return str(ending)
        return None

    def _packets_are_endless(self) -> bool:
        try:
            return packets_are_endless(self.answers, self.request, self.before_input)
        except Stopped:
            return False  # the search that follows ends at this limit, too

    def begin(self, name: str) -> None:
        """Notes the search that begins."""
        self.now = name
        self.on_input(name, len(self.answers))

    def explore(self, name: str, request: Request, *, replies: bool = False) -> None:
        """The search that decides all properties, and its accompanying checks."""
        self.begin(name)
        self.searches.append(Searched(name, []))
        result = self.check(request, replies=replies)
        if any(result[kind].verdict == "violated" for kind in FAILURES):
            return
        self.begin(f"{name}, complete computations")
        realization = realize(
            check_of_nodes(self.answers, request, request.monitored, replies=replies),
            limits=self.limits_left(),
            progress=lambda said: self.on_input(f"{self.now}, {said}", len(self.answers)),
        )
        self.searches[-1] = self.searches[-1]._replace(realization=realization)
        if realization.stopped:
            raise _Ended(realization.stopped)
        others = tuple(order for order in request.judged if order not in request.monitored)
        if any(result[known].verdict != "holds" for known in DELIVERY):
            self.check(request, others, replies=replies)
            return
        for order in (order for order in others if realization.orders[order].extra is not None):
            search = partial(self.find_run, self.searches[-1], order, request, replies=replies)
            if self.request.orders and order not in self.request.orders:
                self.others.append((self.searches[-1].results, search))
            else:
                search()

    def find_run(self, search: Searched, order: str, request: Request, *, replies: bool) -> None:
        """Looks for a shortest run that violates this order, unless one is known already."""
        if all(line.run is None for line in self.searches[0].lines(order)):
            only = (PROPERTIES[order],)
            self.check(request, (order,), replies=replies, first=True, only=only, search=search)

    def check(
        self,
        request: Request,
        orders: tuple[str, ...] | None = None,
        *,
        replies: bool = False,
        first: bool = False,
        only: tuple[Property, ...] = (),
        search: Searched | None = None,
    ) -> CheckResult:
        """One more check of a search, by default the current one, and of the orders monitored in every run. Raises
        `_Ended` if a limit or an interrupt ends it.
        """
        orders = request.monitored if orders is None else orders
        check = check_of_nodes(self.answers, request, orders, replies=replies, only=only)
        result = run_check(check, self.limits_left(), self.progress, report=self.report, first=first)
        search = search or self.searches[-1]
        search.results.append(result)
        if not search.complete:
            raise _Ended(result.exploration.stopped or "the search for runs to show ended early")
        return result


def _unconfirmed(lines: tuple[PropertyResult, ...], answers: Answers) -> str | None:
    """How the answers of new nodes differ in the violating runs; None if they do not."""
    for line in lines:
        for process, state in enumerate(() if line.run is None else line.run.local_states):
            differs = answers.differs_again(process, state.history)
            if differs is not None:
                return f"{line.property.name}: P{process + 1}: {differs}"
    return None
