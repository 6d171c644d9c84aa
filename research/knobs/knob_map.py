"""The map of a design space: what every combination of a protocol's choices does, and how those that hold lie."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations as pairs_of
from math import inf
from typing import Any, Literal, NamedTuple

from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.model_check.search.realizing import Realization, realize
from crownless.model_check.system.request import Check
from crownless.proofs.induction.proved_properties import WAITS
from crownless.runtime.printable import listed, some
from crownless.spec.result import Result, Table

from .combinations import Combination, Knob, combination_named
from .deciding import FAILS, LIVENESS, NO_PROOF, Row, compared_at, elsewhere

#: `holds`: every property that the protocol promises holds within the bound. `unknown`: not decided.
Outcome = Literal["holds", "violated", "unknown"]


#: What combinations have in common that are safe, and whose messages wait only for causes.
ALIKE = "each accepts a message exactly when all that was sent to its receiver causally before it is delivered"


@dataclass(frozen=True)
class Decision(Result):
    """The decision on one combination; `row` has its columns, in the second sweep those of its representative."""

    combination: Combination
    row: Mapping[str, Any]
    #: The combination that is the same functions, and was explored in its place, if there is one.
    same_as: Combination | None = None

    @property
    def brief(self) -> str:
        """The combination, and what was decided."""
        return f"{self.combination.name}: {self.said}"

    @property
    def outcome(self) -> Outcome:
        if self.row.get("violated") is not None:
            return "violated"
        return "unknown" if self.row.get("unknown") is not None or self.row.get("generates") is None else "holds"

    @property
    def violated(self) -> str | None:
        """The property that its shortest run violates."""
        return self.row.get("violated")

    @property
    def run(self) -> tuple[str, ...]:
        """The actions of that run; none if its code raised an error."""
        return () if self.violated == FAILS else tuple((self.row.get("run") or "").splitlines())

    @property
    def proved(self) -> bool:
        """True if it is proved safe and live, for every number of processes and messages."""
        return self.outcome == "holds" and all(self.row.get(shown) == "proved" for shown in ("safe", "live"))

    @property
    def contradicts(self) -> bool:
        """True if it is both proved and refuted, which must never be."""
        shown = "live" if self.violated in LIVENESS else "safe"
        return self.outcome == "violated" and self.row.get(shown) == "proved"

    @property
    def price(self) -> tuple[float, ...]:
        """Control messages, numbers on a message, numbers kept, and work: the first counts most. What has no price
        counts as dearest; `work` is 0 where it is not measured.
        """
        control, stamp, state = (self.row.get(name) for name in ("control", "stamp", "state"))
        work = self.row.get("work") or 0.0
        return *(inf if price is None else price for price in (control, stamp, state)), work

    @property
    def prices(self) -> list[str]:
        """Control messages, numbers on a message, numbers kept, and work, as printed."""
        prices = (self.row.get(name) for name in ("control", "stamp", "state", "work"))
        return ["–" if price is None else f"{price:g}" for price in prices]

    @property
    def changes(self) -> frozenset[tuple[str, str]]:
        """The knobs that do not stand as published, with their alternatives."""
        pairs = zip(self.combination.choices.items(), self.combination.places, strict=True)
        return frozenset(choice for choice, place in pairs if place)

    @property
    def said(self) -> str:
        """The decision in a few words."""
        if self.violated == FAILS:
            return f"fails: {self.row['run']}"
        at = f"({self.row.get('at_processes')}, {self.row.get('at_messages')})"
        if self.outcome == "violated":
            return f"violates {self.violated} in {some(len(self.run), 'action')}, at {at}"
        if self.outcome == "unknown":
            return f"not decided: {self.row.get('unknown') or 'ended early'}"
        if self.proved:
            return "proved for every n"
        return f"holds up to {at}" + ", not proved" * (self.row.get("unproved") != NO_PROOF)

    @property
    def over(self) -> str:
        """The channel other than its own over which it holds, and up to where; nothing if there is none."""
        channel = self.row.get("weakest_channel")
        if channel is None or channel == self.row["channel"]:
            return ""
        at = elsewhere(self.combination, channel, (self.row["processes"], self.row["messages"]))
        return f"holds over the {channel} channel, up to {at}"

    @property
    def protocol(self) -> type[ProtocolMachine]:
        """Its class, for `check` and the other functions."""
        return self.combination.protocol

    def json(self) -> dict[str, Any]:
        """As `crownless knobs --json` and the table on disk have it."""
        left_out = ("key", "protocol", "places", "same_as")
        columns = {name: value for name, value in self.row.items() if name not in left_out}
        return {
            "combination": self.combination.name,
            **self.combination.choices,
            "outcome": self.outcome,
            "same_as": None if self.same_as is None else self.same_as.name,
            **columns,
        }


class Family(NamedTuple):
    """The combinations that hold and generate the same computations within the bound of the comparison."""

    generates: str  #: the order that it equals within that bound, or how much of it; with the bound
    decisions: list[Decision]
    exact: bool  #: True if it generates every computation of the promised order

    @property
    def proved(self) -> int:
        return sum(decision.proved for decision in self.decisions)

    @property
    def cheapest(self) -> Decision:
        """The one that costs least; of equal ones, that which is closest to the published protocol."""
        return min(self.decisions, key=lambda each: (each.price, sum(map(bool, each.combination.places))))


class Pair(NamedTuple):
    """Two alternatives, each of another knob, and what they do apart and together, all else as published."""

    one: Decision
    other: Decision
    both: Decision

    @property
    def violated_alone(self) -> int:
        return [self.one.outcome, self.other.outcome].count("violated")

    @property
    def holding_alone(self) -> int:
        return [self.one.outcome, self.other.outcome].count("holds")


@dataclass(frozen=True)
class KnobMap(Result, Table):
    """Every combination of a protocol's choices, decided within a bound.

    `decided` has a row by the places of the alternatives; what is missing was not decided before an early end.
    """

    protocol: str
    kind: type[ProtocolMachine]
    bound: tuple[int, int]
    channel: str
    combinations: tuple[Combination, ...]
    decided: Mapping[tuple[int, ...], Row]

    @property
    def brief(self) -> str:
        """The protocol, and how many combinations hold."""
        return f"{self.protocol}: {self.headline}"

    @property
    def knobs(self) -> tuple[Knob, ...]:
        return self.combinations[0].knobs

    @cached_property
    def decisions(self) -> dict[tuple[int, ...], Decision]:
        """By the places of the alternatives."""
        by_places = {combination.places: combination for combination in self.combinations}
        found = {}
        for combination in self.combinations:
            row = self.decided.get(combination.places, {"unknown": "ended early"})
            alike = by_places.get(row.get("same_as") or ())
            found[combination.places] = Decision(combination, row, alike)
        return found

    @property
    def published(self) -> Decision:
        return self.decisions[self.combinations[0].places]

    @cached_property
    def holding(self) -> list[Decision]:
        return [decision for decision in self.decisions.values() if decision.outcome == "holds"]

    @property
    def outcomes(self) -> Counter[str]:
        """How many hold, are unknown, or violate each property."""
        return Counter(each.violated or each.outcome for each in self.decisions.values())

    @property
    def contradictions(self) -> list[Decision]:
        """Combinations that are proved and refuted: a fault of the tool, if there are any."""
        return [each for each in self.decisions.values() if each.contradicts]

    @property
    def headline(self) -> str:
        proved = sum(each.proved for each in self.holding)
        hold = f"{len(self.holding):,} hold{'s' * (len(self.holding) == 1)}"
        counts = hold + f", {proved:,} of them proved for every n" * self.has_proofs
        unknown = self.outcomes["unknown"]
        return f"{some(len(self.combinations), 'combination')}: {counts}" + f"; {unknown:,} not decided" * bool(unknown)

    @property
    def has_proofs(self) -> bool:
        """True if there is a proof for every n that may cover its combinations."""
        return any(each.row.get("unproved") != NO_PROOF for each in self.holding)

    def __getitem__(self, name: str) -> Decision:
        """The decision on a combination, such as `m["guard: nothing"]`; raises `BadInput` for one that there is not."""
        return self.decisions[combination_named(self.kind, name).places]

    # -- families ------------------------------------------------------------------------------------------------------

    @cached_property
    def families(self) -> list[Family]:
        """The combinations that hold, by what they generate; the largest family first."""
        groups: dict[str, list[Decision]] = {}
        for decision in self.holding:
            groups.setdefault(decision.row["generates"], []).append(decision)
        return [self._family(group) for group in sorted(groups.values(), key=len, reverse=True)]

    def _family(self, group: list[Decision]) -> Family:
        answer, within = self.realized(group[0].combination), f"within {self.compared_at}"
        promised = answer.promises
        if answer.equal_orders:
            first, *others = answer.equal_orders
            same = f" (there = {', '.join(others)})" if others else ""
            return Family(f"equals {first} {within}{same}", group, promised in answer.equal_orders)
        one = answer.orders[promised]
        inside = ", ".join(answer.strongest(answer.contained_in))
        return Family(f"{inside}, {one.generated:,} of {one.computations:,} computations {within}", group, False)

    @property
    def compared_at(self) -> tuple[int, int]:
        """The bound within which combinations are compared."""
        return compared_at(self.bound)

    @property
    def behaviors(self) -> Counter[Any]:
        """The combinations that hold, by their behavior: how many protocols they are to the application."""
        return Counter(each.row["behavior"] or each.combination.places for each in self.holding)

    @property
    def alike(self) -> str:
        """The same in words; nothing unless there are two."""
        if len(self.holding) < 2:
            return ""
        if all(each.proved and each.row.get(WAITS) == "proved" for each in self.holding):
            return f"to the application they are one protocol, for every n: {ALIKE}"
        known, same = self.behaviors, self.behaviors[self.published.row.get("behavior")]
        how_many = "one protocol" if len(known) == 1 else f"{len(known):,} protocols"
        counted = f"; {same:,} behave as published" * (bool(same) and len(known) > 1)
        return f"to the application they are {how_many} (branching bisimilar, up to {self.compared_at}){counted}"

    def realized(self, of: Combination) -> Realization:
        """What a combination generates, within that bound."""
        return realize(Check(of.protocol, *self.compared_at, channel=self.channel))

    # -- how they lie --------------------------------------------------------------------------------------------------

    def alone(self) -> Iterator[tuple[Knob, str, Decision]]:
        """Each alternative that is not published, with everything else as published."""
        start = self.published.combination.places
        for k, knob in enumerate(self.knobs):
            for place, name in enumerate(knob.alternatives):
                if place != start[k]:
                    yield knob, name, self.decisions[(*start[:k], place, *start[k + 1 :])]

    @cached_property
    def islands(self) -> list[list[Decision]]:
        """The combinations that hold, connected by single steps; the largest component first."""
        import networkx as nx

        holding = {each.combination.places: each for each in self.holding}
        graph: nx.Graph[tuple[int, ...]] = nx.Graph()
        graph.add_nodes_from(holding)
        graph.add_edges_from((places, near) for places in holding for near in self.neighbors(places) if near in holding)
        found = sorted(nx.connected_components(graph), key=len, reverse=True)
        return [[holding[places] for places in sorted(island)] for island in found]

    @property
    def reached(self) -> str:
        """In a sentence: which combinations that hold are reached from each other; empty if only one holds."""
        sizes = [len(island) for island in self.islands]
        if sum(sizes) <= 1:
            return ""
        by_steps = "changing one knob at a time, through combinations that hold"
        if len(sizes) == 1:
            return f"{by_steps}, each of the {sizes[0]:,} that hold is reached from every other"
        return f"{by_steps}, no group of these is reached from another: {listed([f'{size:,}' for size in sizes])}"

    def neighbors(self, places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """The combinations that differ in one knob."""
        for k, knob in enumerate(self.knobs):
            for place in range(len(knob.alternatives)):
                if place != places[k]:
                    yield (*places[:k], place, *places[k + 1 :])

    def never_matter(self) -> list[Knob]:
        """The knobs whose turning never changes whether a combination holds, nor what it generates; none while
        something is not decided, or if none holds.
        """
        if not self.holding or self.outcomes["unknown"]:
            return []
        return [knob for k, knob in enumerate(self.knobs) if not self._matters(k)]

    @property
    def idle(self) -> str:
        """The same in words, with the bound; nothing if each knob matters."""
        names = ", ".join(knob.name for knob in self.never_matter())
        bounds = f"what holds up to {self.bound} or is generated up to {self.compared_at}"
        return names and f"never change {bounds}, whatever the other knobs: {names}"

    def _matters(self, k: int) -> bool:
        seen: dict[tuple[int, ...], Any] = {}
        for places, decision in self.decisions.items():
            others = (*places[:k], *places[k + 1 :])
            does = (decision.outcome, decision.row.get("generates"))
            if seen.setdefault(others, does) != does:
                return True
        return False

    def only_together(self) -> list[Pair]:
        """Pairs of alternatives that hold together, though one alone is violated, or both; the latter first."""
        found = [pair for pair in self._pairs() if pair.both.outcome == "holds" and pair.violated_alone]
        return sorted(found, key=lambda pair: -pair.violated_alone)

    def not_both(self) -> list[Pair]:
        """Pairs of alternatives that are violated together, though each alone holds."""
        return [pair for pair in self._pairs() if pair.both.outcome == "violated" and pair.holding_alone == 2]

    def _pairs(self) -> Iterator[Pair]:
        start = self.published.combination.places
        for (knob, _, one), (another, _, other) in pairs_of(self.alone(), 2):
            if knob is not another:
                places = tuple(max(a, b) for a, b in zip(one.combination.places, other.combination.places, strict=True))
                assert not any(start), "the published alternatives come first"
                yield Pair(one, other, self.decisions[places])

    def finds(self) -> list[Decision]:
        """Combinations that generate every computation of the order and cost less than the published one; the cheapest
        first.

        A combination is left out if another one changes less and costs no more.
        """
        if self.published.row.get("stamp") is None:
            return []
        exact = [
            each
            for family in self.families
            if family.exact
            for each in family.decisions
            if each.row.get("stamp") is not None
        ]
        cheaper = [each for each in exact if each.price < self.published.price]
        cheaper.sort(key=lambda each: (each.price, len(each.changes)))
        return [each for each in cheaper if not any(_makes_needless(other, each) for other in cheaper)]

    # -- as data -------------------------------------------------------------------------------------------------------

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each combination: its alternatives, the outcome, `same_as` (the combination with equal functions
        that was explored instead), and the columns of the table that `--out` writes, such as `violated`, `run`,
        `weakest_channel`, `generates` and `behavior` (equal texts: equal computations, the same to the application),
        `safe`, `live`, `waits_only_for_causes`, `unproved`, and the prices `control`, `stamp`, `state` and `work`.
        """
        return (each.json() for each in self.decisions.values())

    def json(self) -> dict[str, Any]:
        """As `crownless knobs --json` prints it; the combinations are in the table on disk."""
        return {
            "protocol": self.protocol,
            "promises": list(promised_orders(self.kind)),
            "channel": self.channel,
            "processes": self.bound[0],
            "messages": self.bound[1],
            "knobs": {knob.name: list(knob.alternatives) for knob in self.knobs},
            "combinations": len(self.combinations),
            "outcomes": dict(self.outcomes),
            "proved": sum(each.proved for each in self.holding),
            "families": [
                {"generates": one.generates, "exact": one.exact, "combinations": len(one.decisions),
                 "proved": one.proved, "cheapest": one.cheapest.json()}
                for one in self.families
            ],
            "islands": [len(island) for island in self.islands],
            "never_matter": [knob.name for knob in self.never_matter()],
            "only_together": [_said(pair) for pair in self.only_together()],
            "not_both": [_said(pair) for pair in self.not_both()],
            "contradictions": [each.combination.name for each in self.contradictions],
        }  # fmt: skip


def _makes_needless(one: Decision, other: Decision) -> bool:
    """True if the other changes more than the one, and costs no less in any respect."""
    return one.changes < other.changes and all(a <= b for a, b in zip(one.price, other.price, strict=True))


def _said(pair: Pair) -> dict[str, Any]:
    return {"together": pair.both.combination.name, "apart": [pair.one.said, pair.other.said], "said": pair.both.said}


#: The places of a combination's alternatives.
Places = tuple[int, ...]


def rows_of_both(
    combinations: Iterable[Combination],
    first: Mapping[Places, Row],
    second: Mapping[Places, Row],
    representative: Mapping[Places, Places],
) -> dict[Places, Row]:
    """The row of each combination: that of the second sweep, or of its representative there; else of the first."""
    found: dict[tuple[int, ...], Row] = {}
    for combination in combinations:
        places = combination.places
        if places not in first:
            continue
        row, stands_for = dict(first[places]), representative.get(places)
        if stands_for is not None:
            later = second.get(stands_for, {"unknown": "ended early"})
            row |= {name: value for name, value in later.items() if name not in ("key", "places")}
            row["same_as"] = stands_for if stands_for != places else None
            if row.get("violated") is not None:
                row["weakest_channel"] = None
        found[places] = row
    return found
