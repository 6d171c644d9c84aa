"""The computations that a protocol generates (`generating`), compared with all that exist, to name the exact order."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.impl.workloads import Free
from crownless.model_check.system.properties import AT_ONE_RECEIVER
from crownless.model_check.system.request import Check, ResolvedCheck, rendered_setting
from crownless.runtime.ending import Limits, look, stoppable
from crownless.runtime.errors import BadInput, Undecided
from crownless.runtime.printable import printable, some
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.notation import of_computation
from crownless.spec.orders import ORDERS, decide, kept_at, kept_orders, strongest, telling
from crownless.spec.result import Result, Table

from .generating import EVERY, Form, Search, computation_of, form_of, generate, possible


@dataclass
class Comparison:
    """The generated computations compared with one order. The counts are of computations with exactly as many messages
    as the bound.

    `missing`: the smallest computation of the order that is never generated; `extra`: the smallest generated one
    outside the order. Smallest by messages, and then the first in `spec.enumeration`. None: there is none.
    """

    order: str
    computations: int = 0
    generated: int = 0
    missing: Computation | None = None
    extra: Computation | None = None


@dataclass(repr=False)
class Realization(Result, Table):
    """The answer. `computations` counts the generated ones with exactly as many messages as the bound.

    `violated_by`: the smallest generated computation that violates the promise. `impossible`: the number of generated
    cycles of messages, each received before it is sent; they are not computations, and outside every order. `stopped`:
    why the answer is not complete, or None if it is; `extra` is certain even then.
    """

    json_keys = """
        promises decided computations equals equal_orders contained_in contains missing extra violated_by=violation
        orders=counts impossible misdelivers=found.misdelivers states=found.states nodes=found.nodes seconds scope
        """

    check: ResolvedCheck
    workload: Free
    found: Search
    orders: dict[str, Comparison]
    computations: int = 0
    impossible: int = 0
    violated_by: Computation | None = None
    seconds: float = 0.0

    def __bool__(self) -> bool:
        """True if it generates exactly the order that it promises; raises `Undecided` if that is unknown."""
        if self.violated_by is not None:
            return False
        if self.stopped:
            raise Undecided(f"{self!r} is neither true nor false: it is not complete")
        return self.promises in self.equal_orders

    def __str__(self) -> str:
        smallest = {
            "missing": self.shown_missing and self.orders[self.shown_missing].missing,
            "extra": self.violated_by,
        }
        drawn = [f"{what}:\n{c}" for what, c in smallest.items() if c and possible(c)]
        return "\n\n".join([printable(f"{self.brief}; {self.scope}"), *drawn])

    @property
    def brief(self) -> str:
        """The protocol, and how many computations it generates."""
        which = self.stopped or f"within {self.bound}: {self.equals or 'no order exactly'}"
        return f"{self.check.protocol}: {some(self.computations, 'computation')}; {which}"

    def rows(self) -> list[dict[str, Any]]:
        """A row per order: how many computations it has, and how many of them are generated."""
        return [
            {"order": name, "computations": one.computations, "generated": one.generated}
            for name, one in self.orders.items()
        ]

    @property
    def messages(self) -> int:
        return self.workload.messages

    @property
    def bound(self) -> str:
        """The bound of every comparison, in words."""
        return f"{some(self.check.machine.n, 'process')} and {some(self.messages, 'message')}"

    @property
    def promises(self) -> str:
        return promised_orders(type(self.check.machine))[-1]

    @property
    def stopped(self) -> str | None:
        return self.found.stopped

    @property
    def generates_nothing(self) -> bool:
        """True if no complete computation with a message is generated, so that nothing is compared with any order."""
        return not self.stopped and not any(map(any, self.found.forms))

    @property
    def contained_in(self) -> list[str]:
        """The orders that everything generated keeps; none if nothing is generated."""
        if self.stopped or self.generates_nothing:
            return []
        return [name for name, one in self.orders.items() if one.extra is None]

    @property
    def contains(self) -> list[str]:
        """The orders all of whose computations are generated."""
        return [] if self.stopped else [name for name, one in self.orders.items() if one.missing is None]

    @property
    def equal_orders(self) -> list[str]:
        """The orders that equal the generated computations within the bound. The first names the result: the promised
        order if it is among them, else the weakest.
        """
        equal = [name for name in self.contained_in if name in self.contains]
        first = self.promises if self.promises in equal else next(iter(equal), None)
        return sorted(equal, key=lambda name: name != first)

    @property
    def equals(self) -> str | None:
        return next(iter(self.equal_orders), None)

    @property
    def shown_missing(self) -> str | None:
        """The order whose smallest missing computation is most informative: the promised one, else the strongest around
        it.
        """
        wanted = (self.promises, *self.strongest(self.contained_in))
        return next((name for name in wanted if self.orders[name].missing is not None), None)

    def strongest(self, orders: Iterable[str]) -> list[str]:
        """The orders among these that no other one implies, for unicasts or multicasts as the case may be."""
        return strongest(orders, max(self.enumerated(1), key=lambda c: len(c.messages[0].receivers)))

    def enumerated(self, messages: int) -> Iterator[Computation]:
        """Every computation with this number of messages that the workload allows."""
        free = self.workload
        return computations(self.check.machine.n, messages, self_sends=free.self_sends, sends=free.sends)

    @property
    def scope(self) -> str:
        """The scope of the answer, in words."""
        check = self.check
        parts = [self.workload.scope, f"{check.channel_name} channel: {check.channel.meaning}"]
        parts += [f"{key}={rendered_setting(value)}" for key, value in check.machine.settings.items()]
        if check.machine.ordered_at is not None:
            names = ", ".join(self.workload.processes[i] for i in sorted(check.machine.ordered_at))
            parts.append(f"{self.promises} order is promised of deliveries at {names} alone")
        how = f"search ended early: {self.stopped}" if self.stopped else "every interleaving, complete computations"
        return "; ".join([*parts, how])

    @property
    def decided(self) -> bool:
        """True if the answer is complete."""
        return self.stopped is None

    @property
    def violation(self) -> dict[str, Any] | None:
        """The smallest generated computation that violates the promise, and why it does."""
        return _facts(self.violated_by, self.promises)

    @property
    def extra(self) -> dict[str, Any]:
        """For each order the smallest generated computation outside it, and why it is outside."""
        return {name: _facts(one.extra, name) for name, one in self.orders.items()}

    @property
    def missing(self) -> dict[str, Any] | None:
        """For each order the smallest of its computations that is never generated; None if that is not known."""
        return {name: _facts(one.missing, None) for name, one in self.orders.items()} if self.decided else None

    @property
    def counts(self) -> dict[str, Any] | None:
        """For each order the numbers of its computations, and of those generated; None if they are not known."""
        if not self.decided:
            return None
        return {n: {"computations": one.computations, "generated": one.generated} for n, one in self.orders.items()}

    def json(self) -> dict[str, Any]:
        """The request, and the answer under the stable keys of the command line."""
        asked = self.check.json()
        requested = ("protocol", "processes", "messages", "channel", "sends", "self_sends", "parameters")
        return {key: asked[key] for key in requested} | super().json()


def _facts(c: Computation | None, violated: str | None) -> dict[str, Any] | None:
    """A computation, and why it violates that order."""
    if c is None:
        return None
    facts = {"messages": len(c.messages), "computation": lines_in_notation(c)}
    return facts if violated is None else {**facts, "because": because(c, violated)}


def lines_in_notation(c: Computation) -> list[str]:
    """One line per process."""
    return of_computation(c).print().splitlines()


def because(c: Computation, order: str) -> str:
    """Why a computation violates an order, in a line."""
    if not possible(c):
        return "a cycle of messages, each received before it is sent"
    witness = decide(c, order).witness
    return "" if witness is None else witness.headline(c)


def realize(
    check: Check,
    *,
    limits: Limits | None = None,
    progress: Callable[[str], None] | None = None,
) -> Realization:
    """Searches and compares, for the free workload without crashes; raises `BadInput` for inapplicable requests."""
    started = time.monotonic()
    limits = limits or Limits()
    resolved = check.resolve()
    workload = resolved.workload
    if not isinstance(workload, Free) or resolved.crash is not None:
        problem = "the computations of a protocol are of the free workload, without crashes"
        raise BadInput(problem, hint="leave out the program or the crash")
    promised = promised_orders(type(resolved.machine))
    found = generate(resolved.machine, workload, resolved.channel, limits, progress)
    compared = {*telling(unicasts=workload.sends == "unicast"), *promised}
    orders = [name for name in ORDERS if name in compared]
    answer = Realization(resolved, workload, found, {name: Comparison(name) for name in orders})
    if found.stopped:
        _compare(answer, None)
    else:
        with stoppable(limits.after(time.monotonic() - started)) as part:
            _compare(answer, progress)
        found.stopped = part.reason
    answer.seconds = time.monotonic() - started
    return answer


def _compare(answer: Realization, progress: Callable[[str], None] | None) -> None:
    """Judges every computation, the smallest first; after a search that ended early, its findings without checks of
    limits.
    """
    for number, (c, generated) in enumerate(_candidates(answer)):
        if not number % EVERY and not answer.stopped:
            look()
            if progress is not None:
                progress(f"{number:,} computations compared")
        in_full = len(c.messages) == answer.messages
        real = not generated or possible(c)
        kept = kept_orders(c) if real else frozenset[str]()
        answer.impossible += in_full and not real
        answer.computations += in_full and generated and real
        for name, one in answer.orders.items():
            if name in kept:
                one.computations += in_full
                one.generated += in_full and generated
                if not generated and one.missing is None:
                    one.missing = c
            elif generated and one.extra is None:
                one.extra = c
        if generated and answer.violated_by is None and not (real and _keeps_promise(c, kept, answer.check.machine)):
            answer.violated_by = c


def _candidates(answer: Realization) -> Iterator[tuple[Computation, bool]]:
    """Every computation of each number of messages, and whether it is generated; then what is generated and is none.

    After a search that ended early: what it generated, and no others.
    """
    by_size: dict[int, set[Form]] = {}
    for known in answer.found.forms:
        by_size.setdefault(sum(event[0] == "send" for line in known for event in line), set()).add(known)
    for messages in range(1, answer.messages + 1):
        forms = by_size.get(messages, set())
        if not answer.stopped:
            for c in answer.enumerated(messages):
                form = form_of(tuple(tuple((kind, c.messages[m or 0]) for kind, m in line) for line in c.lines))
                assert form is not None, "the enumeration has complete computations only"
                yield c, form in forms
                forms.discard(form)
        for form in sorted(forms):
            yield computation_of(form), True


def _keeps_promise(c: Computation, kept: frozenset[str], machine: ProtocolMachine) -> bool:
    """True if it keeps the promise: that may be FIFO or causal order of the deliveries at some processes only."""
    promised = promised_orders(type(machine))
    if kept.issuperset(promised):
        return True
    places = machine.ordered_at
    return places is not None and all(order in AT_ONE_RECEIVER and kept_at(c, order, places) for order in promised)
