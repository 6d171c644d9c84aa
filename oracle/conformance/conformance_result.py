"""The result of a conformance check: all searches combined, with facts about the nodes."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from crownless.model_check.check.check_result import CheckResult, Outcome, PropertyResult, Suite
from crownless.model_check.search.realizing import Realization
from crownless.model_check.system.exploration import FIRST_VIOLATION
from crownless.model_check.system.properties import (
    DELIVERS_ALL,
    DELIVERS_ONCE,
    DELIVERS_SOMETHING,
    NEVER_BLOCKS,
    NOTHING_DELIVERED,
    OF_DELIVERIES,
    Property,
)
from crownless.runtime.errors import Undecided
from crownless.runtime.printable import in_brackets, listed, printable, some
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import ORDERS, strongest, telling, weaker
from crownless.spec.result import Result

from .answers import Repeats
from .conformance_request import DELIVERY, JUDGED, WITH_REPLIES, Request
from .node import FAILS_FIRST, FAILURES, VARYING
from .node_machine import Failed, pending_in
from .schedules import Schedule, schedule_of

#: All orders and properties that are decided, in display order.
PROPERTIES = {
    **{name: Property(name, "always", meaning) for name, meaning in FAILURES.items()},
    **{known.name: known for known in (DELIVERS_ONCE, DELIVERS_ALL, NEVER_BLOCKS, DELIVERS_SOMETHING)},
    **{name: Property(name, "always", ORDERS[name].demands) for name in JUDGED},
}
#: Bounds (processes, messages) at which an order has fewer computations than each weaker one.
DISTINGUISHED_AT: dict[Sends, dict[str, tuple[int, int]]] = {
    "unicast": {"causal": (3, 3), "mailbox": (4, 4), "one-n": (4, 4), "n-n": (3, 4)},
    "broadcast": {"causal": (3, 2), "mailbox": (3, 3), "one-n": (3, 3), "n-n": (3, 4)},
}


class Searched(NamedTuple):
    """The results of one search and its accompanying checks, and the complete computations that the nodes generate."""

    name: str
    results: list[CheckResult]
    realization: Realization | None = None

    def __repr__(self) -> str:
        return in_brackets(f"{self.name}: {some(len(self.results), 'result')}")

    @property
    def complete(self) -> bool:
        """True if each check ended, either completely or at its first violation where it stops there."""
        return all(one.exploration.stopped == FIRST_VIOLATION or not one.ended_early for one in self.results)

    def lines(self, name: str) -> Iterable[PropertyResult]:
        """The results for a property."""
        for result in self.results:
            if name in result:
                yield self._as_far_as_known(result[name])
        if self.realization is not None and name in self.realization.orders:
            violated = self.realization.orders[name].extra is not None
            verdict: Outcome = "violated" if violated else "unknown" if self.realization.stopped else "holds"
            yield PropertyResult(
                PROPERTIES[name], verdict, note=f"{self.name}, complete computations" if violated else ""
            )

    def breaks(self, name: str) -> bool:
        """True if a run of this search violates the property."""
        return any(line.verdict == "violated" for line in self.lines(name))

    def _as_far_as_known(self, line: PropertyResult) -> PropertyResult:
        """The line read by itself. A run with a failing node shows nothing else, except earlier deliveries. A run after
        which a timer is pending does not end there.
        """
        line = replace(line, property=PROPERTIES[line.property.name])
        states = () if line.run is None else line.run.local_states
        pending = pending_in(states) if line.property.kind == "live" else None
        if pending is not None:
            return PropertyResult(line.property, "unknown", note=pending)
        failed = [state for state in states if isinstance(state, Failed)]
        if not failed or line.property.name == DELIVERS_ONCE.name:
            return line
        if line.property.name in FAILURES:
            return replace(line, note=failed[0].said)
        return PropertyResult(line.property, "unknown", note=f"{FAILS_FIRST}: {failed[0].kind}")


def verdict_on_order(line: PropertyResult) -> str:
    """The verdict on a property that is an order, which is *kept* rather than that it *holds*."""
    return "kept" if line.verdict == "holds" else line.verdict


def merged(
    searches: list[Searched], request: Request, ended_early: str | None, pending: str | None = None
) -> tuple[PropertyResult, ...]:
    """A line for each property: the worst of the verdicts of all searches, with a run if there is one; for
    `delivers-something` the best.

    A run that violates an order violates all stronger ones. If a node answers at random or unasked, no other verdict is
    certain. If a node has a timer `pending`, runs in which it fires were not tried, so that nothing holds; orders are
    not kept by nodes that deliver nothing.
    """
    unicasts = request.sends == "unicast"
    lines: dict[str, PropertyResult] = {}

    def is_violated(name: str) -> bool:
        return name in lines and lines[name].verdict == "violated"

    def line_of(name: str) -> PropertyResult:
        known = PROPERTIES[name]
        if name not in FAILURES and any(map(is_violated, VARYING)):
            return PropertyResult(known, "unknown", note=FAILS_FIRST)
        found = [line for search in searches for line in search.lines(name)]
        if known.kind == "sometimes" and found:
            return _best(found, pending)
        violated = [line for line in found if line.verdict == "violated"]
        if not violated and name in JUDGED:
            below = weaker(name, unicasts=unicasts)
            violated = [
                replace(lines[weak], property=known, note=f"the run that violates {weak} order, which is weaker")
                for weak in JUDGED
                if weak in below and is_violated(weak)
            ]
        for such in (
            violated,
            [line for line in found if line.verdict == "unknown" and line.note != NOTHING_DELIVERED],
        ):
            if such:
                return next((line for line in such if line.run is not None), such[0])
        if name not in FAILURES and any(map(is_violated, FAILURES)):
            return PropertyResult(known, "unknown", note=FAILS_FIRST)
        if not found or ended_early is not None:
            depth = searches[-1].results[-1].exploration.depth if searches and searches[-1].results else 0
            note = f"not violated before the search ended, at runs of {some(depth, 'action')}: {ended_early}"
            return PropertyResult(known, "unknown", note=note)
        if pending is not None:
            return PropertyResult(known, "unknown", note=pending)
        if name in OF_DELIVERIES and line_of(DELIVERS_SOMETHING.name).verdict != "holds":
            return PropertyResult(known, "unknown", note=NOTHING_DELIVERED)
        return found[0]

    for name in PROPERTIES:
        if name not in ORDERS or name in telling(unicasts=unicasts):
            lines[name] = line_of(name)
    return tuple(lines.values())


def _best(found: Iterable[PropertyResult], pending: str | None) -> PropertyResult:
    """The result of a `sometimes` property: it holds if one search reaches it."""
    best = max(found, key=lambda line: line.verdict == "holds")
    return best if best.verdict == "holds" or pending is None else replace(best, note=pending)


def as_promised(lines: Iterable[PropertyResult], request: Request) -> tuple[PropertyResult, ...]:
    """The lines, where the delivery properties that are not promised say so."""
    unpromised = {name for name in DELIVERY if name not in request.delivery}
    return tuple(
        replace(line, property=line.property._replace(promised=line.property.name not in unpromised)) for line in lines
    )


@dataclass(frozen=True, repr=False)
class Conformance(CheckResult):
    """The verdict on each order, on deliveries, and on the ways in which nodes fail.

    True if no node fails, everything is delivered, and the requested orders are kept; an unknown verdict raises
    `Undecided` as a truth value.
    """

    json_keys = """
        implementation=protocol processes=request.processes messages=request.messages channel=request.channel
        sends=request.sends self_sends=request.self_sends replies=request.messages_with_replies ticks=request.ticks
        restarts=request.restarts runs=runs_made verdict=verdict_within_runs orders strongest failures delivery
        generates=realization same_orders unconfirmed ended_early=ended_by pending not_tried best_effort takes_replies
        states=exploration.states transitions=exploration.transitions queries repeats seconds scope
        """

    request: Request = field(default_factory=Request)
    searches: tuple[Searched, ...] = ()
    #: With `--random`, the number of runs requested and made. None: every schedule was searched.
    runs: int | None = None
    made: int = 0
    #: The random run that violated each property.
    found_by: dict[str, int] = field(default_factory=dict)
    #: The number of different inputs to nodes, and the answers that new nodes repeated.
    queries: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    #: Why a violation is not certain, for example because new nodes answered differently.
    unconfirmed: str | None = None
    #: Why some searches or runs were cut short.
    ended_by: str | None = None
    #: The first timer, thread or task that a node left pending after an input, in words.
    pending: str | None = None
    #: Why the answers may not include all of the nodes' output.
    best_effort: str | None = None
    #: False if the program does not announce that it takes replies, so that none were offered inside deliveries.
    takes_replies: bool = True

    def __bool__(self) -> bool:
        if self.verdict == "unknown" and self.undecided is not None:
            raise Undecided(f"{self!r} is neither true nor false: {self.undecided}")
        return super().__bool__()

    @property
    def brief(self) -> str:
        """The verdict, and the orders kept or the number of random runs."""
        found = f"{self.protocol}: {self.verdict}{self.one_at_a_time}"
        if self.runs is not None:
            return f"{found} in {some(self.made, 'random run')}"
        return f"{found}, keeps {listed(self.named)} within {self.request.bound}"

    def __str__(self) -> str:
        kept = "" if self.runs is not None else f", keeps {listed(self.named)}"
        why = f"{self.undecided}; " if self.verdict == "unknown" and self.undecided else ""
        parts = [printable(f"{self.protocol}: {self.verdict}{self.one_at_a_time}{kept}; {why}{self.scope}")]
        parts += [str(line) for line in self.violations.values() if line.run is not None]
        return "\n\n".join(parts)

    # -- the verdict ---------------------------------------------------------------------------------------------------

    @property
    def one_at_a_time(self) -> str:
        """A reminder that races between tasks of a node were not tried, after a verdict; empty if it has none."""
        return ", one input at a time" if self.check.machine.not_tried else ""

    @property
    def wanted(self) -> list[PropertyResult]:
        """The lines that decide: on failures, on deliveries, and on the orders of the request."""
        delivery = [name for name in self.request.delivery if self.runs is None or name != NEVER_BLOCKS.name]
        names = (*FAILURES, *delivery, DELIVERS_SOMETHING.name, *self.request.orders)
        return [self[name] for name in names if name != "asynchronous"]

    @property
    def violated(self) -> list[str]:
        """The names of the violated ones."""
        return [line.property.name for line in self.wanted if line.verdict == "violated"]

    @property
    def verdict(self) -> Outcome:
        """For random runs, `holds` means that none of them violates anything."""
        if self.violated:
            return "violated" if self.unconfirmed is None else "unknown"
        return "holds" if self.undecided is None else "unknown"

    @property
    def undecided(self) -> str | None:
        """Why the verdict is unknown, unless a property is violated; None if it is not."""
        if self.ended_by is not None or self.pending is not None:
            return self.ended_by or self.pending
        if self[DELIVERS_SOMETHING.name].verdict == "unknown":
            return NOTHING_DELIVERED
        undecided = self.runs is None and any(line.verdict == "unknown" for line in self.wanted)
        return "not every property was decided" if undecided else None

    @property
    def failures(self) -> list[PropertyResult]:
        """The ways in which nodes fail, each with a shortest run."""
        return [self[name] for name in FAILURES if self[name].verdict == "violated"]

    @property
    def ended_early(self) -> bool:
        return self.ended_by is not None

    # -- the orders ----------------------------------------------------------------------------------------------------

    @property
    def kept(self) -> list[str]:
        """The orders that are kept."""
        return ["asynchronous", *(name for name in self.request.judged if self[name].verdict == "holds")]

    @property
    def strongest(self) -> list[str]:
        """The strongest orders that are kept."""
        example = max(computations(3, 1, sends=self.request.sends), key=lambda c: len(c.messages[0].receivers))
        return strongest(self.kept, example)

    @property
    def named(self) -> list[str]:
        """The strongest orders kept, each named by the weakest order with as many computations within the bound, since
        several orders may coincide.
        """
        names = list(ORDERS)
        return list(dict.fromkeys(min([name, *self.same_as(name)], key=names.index) for name in self.strongest))

    def same_as(self, order: str) -> list[str]:
        """The weaker orders with as many complete computations within the bound."""
        if self.realization is None or self.realization.stopped:
            return []
        counts = {name: one.computations for name, one in self.realization.orders.items()}
        below = weaker(order, unicasts=self.request.sends == "unicast")
        return [name for name in counts if name in below and counts[name] == counts[order]]

    @cached_property
    def same_orders(self) -> list[dict[str, Any]]:
        """The kept requested orders that coincide with weaker ones within the bound, and a bound that distinguishes."""
        found = []
        bounds = DISTINGUISHED_AT.get(self.request.sends, {})
        for order in self.request.orders:
            n, m = bounds.get(order, (0, 0))
            larger = max(n, self.request.processes), max(m, self.request.messages)
            same = self.same_as(order) if order in self.kept else []
            if same and larger != (self.request.processes, self.request.messages):
                found.append({"order": order, "weaker": same, "processes": larger[0], "messages": larger[1]})
        return found

    @property
    def realization(self) -> Realization | None:
        """The complete computations that the nodes generate with free sends; None if not searched, if a node answers at
        random or unasked, or if timers are pending, after which it may generate others.
        """
        certain = self.pending is None and all(self[name].verdict != "violated" for name in VARYING)
        return self.searches[0].realization if self.searches and certain else None

    def violated_by_replies(self) -> list[str]:
        """The properties violated by sends from inside deliveries, but not by free sends."""
        with_replies = [one for one in self.searches if one.name == WITH_REPLIES]
        free = {name for one in self.searches[:1] for name in self.violations if one.breaks(name)}
        return [name for one in with_replies for name in self.violations if name not in free and one.breaks(name)]

    @property
    def replied(self) -> bool:
        """True if sends from inside deliveries were searched."""
        return any(one.name == WITH_REPLIES for one in self.searches)

    # -- as text and as data -------------------------------------------------------------------------------------------

    @property
    def scope(self) -> str:
        """The scope of the verdict, in words."""
        if self.runs is not None:
            check = self.check
            parts = [some(self.made, "random run"), check.workload.scope]
            parts.append(f"{check.channel_name} channel: {check.channel.meaning}")
            parts += [f"with {WITH_REPLIES}"] if self.request.messages_with_replies else []
            parts += [check.machine.not_tried] if check.machine.not_tried else []
        else:
            parts = [self.searches[0].results[0].scope]
            replies = some(self.request.messages_with_replies, "message")
            parts += [f"{WITH_REPLIES}: up to {replies}"] if self.replied else []
        return "; ".join([*parts, *self.request.own_steps, *([self.best_effort] if self.best_effort else [])])

    def suite(self) -> Suite:
        """The deciding lines, for other tools."""
        return Suite(self.protocol, self.wanted, self.seconds, self.scope)

    def schedule(self, name: str) -> Schedule | None:
        """The schedule of a violation, which can be saved and repeated; None if it has no run."""
        run = self[name].run
        has_replies = self.runs is not None or name in self.violated_by_replies()
        request = self.request if has_replies else replace(self.request, replies=0)
        return None if run is None else schedule_of(self.protocol, name, run, request)

    @property
    def verdict_within_runs(self) -> str:
        """The verdict, which random runs do not earn where they violate nothing."""
        return "not violated" if self.runs is not None and self.verdict == "holds" else self.verdict

    @property
    def runs_made(self) -> int | None:
        """The number of random runs; None if every schedule was searched."""
        return None if self.runs is None else self.made

    @property
    def not_tried(self) -> str | None:
        """What of the nodes' own concurrency was not tried, if anything."""
        return self.check.machine.not_tried or None

    @property
    def orders(self) -> dict[str, Any]:
        """The result for each order judged; its verdict says *kept* where that of a property says *holds*."""
        return {name: self[name].json() | {"verdict": verdict_on_order(self[name])} for name in self.request.judged}

    @property
    def delivery(self) -> list[PropertyResult]:
        """The results for the properties of deliveries."""
        decided = {line.property.name: line for line in self.properties}
        return [decided[name] for name in (*DELIVERY, DELIVERS_SOMETHING.name) if name in decided]

    def json(self) -> dict[str, Any]:
        """The result under its own keys: those of a check say what was asked of a protocol."""
        return Result.json(self)
