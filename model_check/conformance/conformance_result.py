"""The result of a check of conformance: a verdict on each order, on deliveries, and on the ways in which nodes fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from crownless.model_check.check_result import CheckResult, Outcome
from crownless.model_check.exploration import FIRST_VIOLATION
from crownless.model_check.properties import DELIVERS_ONCE
from crownless.model_check.realizing import Realization
from crownless.spec.enumeration import Sends, computations
from crownless.spec.errors import no_such_name
from crownless.spec.orders import ORDERS, strongest, weaker
from crownless.spec.printable import in_brackets, printable, some

from .conformance_request import DELIVERY, JUDGED, MONITORED, WITH_REPLIES
from .findings import Answer, Finding
from .node import FAILURES
from .node_machine import Failed
from .queries import CERTAIN
from .same_orders import SameOrders, same_orders


@dataclass(frozen=True, repr=False)
class Search:
    """One search, and its scope in words."""

    name: str
    result: CheckResult
    #: The complete computations that the nodes generate in it, compared with each order; None where not searched.
    realization: Realization | None = None

    def __repr__(self) -> str:
        return in_brackets(f"{self.name}: {self.result!r}")

    @property
    def complete(self) -> bool:
        """True if it came to its end, or to the first violation if that was its end."""
        stopped = self.result.exploration.stopped
        return stopped == FIRST_VIOLATION or not self.result.ended_early

    def finding(self, name: str) -> Finding | None:
        """The verdict on a property, if this search decides it."""
        if name not in self.result:
            return self._of_computations(name)
        line = self.result[name]
        meaning = FAILURES.get(name, line.property.meaning)
        found = Finding(name, line.verdict, meaning, line.run, self.name, line.note)
        failed = [] if line.run is None else [state for state in line.run.local_states if isinstance(state, Failed)]
        if failed and name in FAILURES:
            return replace(found, note=failed[0].said)
        if name == DELIVERS_ONCE.name and line.run is not None:
            return found
        if failed:
            return replace(found, verdict="unknown", run=None, note=f"a node fails first: {failed[0].kind}")
        return found

    def _of_computations(self, order: str) -> Finding | None:
        """The verdict on an order that is decided of complete computations."""
        if self.realization is None or order not in ORDERS:
            return None
        broken = self.realization.orders[order].extra is not None
        verdict: Outcome = "violated" if broken else "unknown" if self.realization.stopped else "holds"
        return Finding(order, verdict, ORDERS[order].demands, None, f"{self.name}, complete computations")


@dataclass(repr=False)
class Conformance(Answer):
    """The answer. As a truth value: whether no node fails, all is delivered, and the requested orders are kept; an
    unknown verdict has none, and raises `Undecided`.
    """

    #: The searches over the channel of the request, that of free sends first.
    searches: list[Search] = field(default_factory=list)
    #: Over a FIFO channel, where the channel of the request is weaker.
    over_fifo: list[Search] = field(default_factory=list)
    #: Whether duplicates of packets do any harm, up to a few messages: one search, if it was made.
    with_duplicates: list[Search] = field(default_factory=list)

    def __repr__(self) -> str:
        return in_brackets(f"{self.name}: {self.verdict}, keeps {' and '.join(self.named)} within {self.request.bound}")

    def __str__(self) -> str:
        parts = [printable(f"{self.name}: {self.verdict}, keeps {' and '.join(self.named)}; {self.scope}")]
        parts += [f"{one}\n\n{one.run}" for one in self.violations if one.run is not None]
        return "\n\n".join(parts)

    def __getitem__(self, name: str) -> Finding:
        """The verdict on an order, on a property of deliveries, or on a way to fail; raises `NoSuchName`, a `KeyError`,
        if that is none of them.
        """
        found = self._findings
        if name not in found:
            raise no_such_name(f"{self.name}: no property {name!r}", name, found)
        return found[name]

    @property
    def _findings(self) -> dict[str, Finding]:
        return {name: self._finding(name) for name in (*FAILURES, *DELIVERY, *JUDGED)}

    def _finding(self, name: str) -> Finding:
        """The worst of the verdicts of all searches, with a run if there is one; a run that breaks an order breaks all
        that are stronger. Where a node answers at random or unasked, no other verdict is a fact.
        """
        if name not in FAILURES and self._answers_vary:
            return Finding(name, "unknown", note="a node fails first")
        found = [one for search in self.searches if (one := search.finding(name)) is not None]
        broken = [one for one in found if one.verdict == "violated"] or self._breaking_weaker(name)
        for such in (broken, [one for one in found if one.verdict == "unknown"]):
            if such:
                return next((one for one in such if one.run is not None), such[0])
        if self._a_node_fails and name not in FAILURES:
            return Finding(name, "unknown", note="a node fails first")
        if not found or self.ended_early is not None:
            meaning = found[0].meaning if found else ORDERS[name].demands if name in ORDERS else ""
            depth = self.searches[-1].result.exploration.depth if self.searches else 0
            note = f"not violated before the search ended, at runs of {some(depth, 'action')}: {self.ended_early}"
            return Finding(name, "unknown", meaning, note=note)
        return found[0]

    def _breaking_weaker(self, order: str) -> list[Finding]:
        """The violations of weaker orders, as violations of this one."""
        below = weaker(order, unicasts=self.request.sends == "unicast") if order in JUDGED else ()
        broken = (one for name in JUDGED if name in below and (one := self._finding(name)).verdict == "violated")
        note = "the run that breaks {} order, which is weaker"
        return [replace(one, name=order, meaning=ORDERS[order].demands, note=note.format(one.name)) for one in broken]

    @property
    def _answers_vary(self) -> bool:
        """True if a node answers at random or unasked, so that nothing else is a fact."""
        return any(map(self._is_violated, CERTAIN))

    @property
    def _a_node_fails(self) -> bool:
        return any(map(self._is_violated, FAILURES))

    def _is_violated(self, kind: str) -> bool:
        results = [search.result for search in self.searches]
        return any(kind in result and result[kind].verdict == "violated" for result in results)

    @property
    def failures(self) -> list[Finding]:
        """The ways in which nodes fail, each with a shortest run."""
        return [one for name, one in self._findings.items() if name in FAILURES and one.verdict == "violated"]

    @property
    def violations(self) -> list[Finding]:
        """All that is violated: failures first, then deliveries, then orders."""
        return [one for one in self._findings.values() if one.verdict == "violated"]

    @property
    def kept(self) -> list[str]:
        """The orders that are kept."""
        return ["asynchronous", *(name for name in JUDGED if self[name].verdict == "holds")]

    @property
    def strongest(self) -> list[str]:
        """The strongest orders that are kept."""
        return _strongest(self.kept, self.request.sends)

    @property
    def named(self) -> list[str]:
        """The strongest orders kept, each by the weakest order that has as many computations within the bound, where
        several orders may be the same.
        """
        if self.realization is None or self.realization.stopped:
            return self.strongest
        counts = {name: one.computations for name, one in self.realization.orders.items()}
        unicasts = self.request.sends == "unicast"

        def same(name: str) -> str:
            equal = [one for one in weaker(name, unicasts=unicasts) if counts[one] == counts[name]]
            return min([name, *equal], key=list(ORDERS).index)

        return list(dict.fromkeys(map(same, self.strongest)))

    @property
    def realization(self) -> Realization | None:
        """The complete computations that the nodes generate with free sends; None where not searched, or where a node
        answers at random or unasked.
        """
        return None if self._answers_vary else self.searches[0].realization

    @property
    def generates_exactly(self) -> str | None:
        """The order that is exactly what the nodes generate within the bound."""
        return None if self.realization is None else self.realization.equals

    @cached_property
    def same_orders(self) -> list[SameOrders]:
        """Of the requested orders that are kept, those that are the same as weaker ones within the bound."""
        if self.realization is None or self.realization.stopped:
            return []
        kept = [name for name in self.request.orders if name in self.kept]
        return [same for name in kept if (same := same_orders(self.realization, name)) is not None]

    @property
    def kept_over_fifo(self) -> list[str] | None:
        """Of FIFO, causal and synchronous order those kept over a FIFO channel; None: not searched to the end."""
        if self._answers_vary or not self.over_fifo or not all(one.complete for one in self.over_fifo):
            return None
        return [name for name in MONITORED if all(one.result[name].verdict == "holds" for one in self.over_fifo)]

    @property
    def verdict(self) -> Outcome:
        """Holds, violated or unknown, of failures, deliveries, and the requested orders."""
        wanted = self.wanted
        if any(one.verdict == "violated" for one in wanted):
            return "violated" if self.unconfirmed is None else "unknown"
        if self.ended_early is not None or any(one.verdict == "unknown" for one in wanted):
            return "unknown"
        return "holds"

    @property
    def replied(self) -> bool:
        """True if sends from inside deliveries were searched."""
        return any(one.name == WITH_REPLIES for one in self.searches)

    @property
    def scope(self) -> str:
        """In words, how far the verdict reaches."""
        parts = [self.searches[0].result.scope]
        if self.replied:
            parts.append(f"{WITH_REPLIES}: up to {some(self.request.messages_with_replies, 'message')}")
        return self.scope_of(parts)

    def json(self) -> dict[str, Any]:
        free = self.searches[0].result.json()
        return {
            **super().json(),
            "messages": free["messages"],
            "orders": {name: self[name].json() for name in JUDGED},
            "strongest": self.strongest,
            "failures": [one.json() for one in self.failures],
            "delivery": [self[name].json() for name in DELIVERY],
            "generates": None if self.realization is None else self.realization.json(),
            "same_orders": [one.json() for one in self.same_orders],
            "kept_over_fifo": self.kept_over_fifo,
            "with_duplicates": [one.result.json() for one in self.with_duplicates],
            "states": free["states"],
            "transitions": free["transitions"],
        }


def _strongest(kept: Iterable[str], sends: Sends) -> list[str]:
    example = max(computations(3, 1, sends=sends), key=lambda c: len(c.messages[0].receivers))
    return list(strongest(kept, example))
