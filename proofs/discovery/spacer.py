"""Safety by z3's Spacer, without given invariants: few processes, few messages in flight at a time.

Spacer (Komuravelli, Gurfinkel & Chaki, 2014) is asked about the protocol as constrained Horn clauses: whatever can be
at the start can be; whatever a step makes of what can be, can be; and what must not be is that a message is accepted
while another to the same receiver, whose send happened before, is in flight. Its answer is an invariant, for any number
of messages in all: the numbers that the processes keep may grow without end. Every step is the protocol's own code, on
numbers of z3's.

A message in flight has a slot, with the history variables that safety is stated in: which processes know of it, and
before which of the others its send happened. While all slots are taken nobody sends. So what is shown is shown of runs
with at most so many messages in flight at any moment. The invariant that Spacer finds is put to z3 again, apart from
Spacer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, Literal, NamedTuple

import z3

from crownless.impl.ops import Integers, Value
from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.proofs.any_run import parts
from crownless.proofs.asking import ask, ask_spacer
from crownless.proofs.guarded import for_every_n
from crownless.proofs.interrupts import reason_for_giving_up
from crownless.proofs.terms import Term, Terms, as_term
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

from .forms import form_of
from .z3_clause_rendering import conjuncts, render_clause

#: Spacer's own count of its steps.
STEPS = 200_000_000
#: With two it takes seconds, with three minutes; with more it has not been seen to end.
MOST_PROCESSES = 4


@dataclass(frozen=True)
class Numbers(Integers):
    """An `impl.ops.Ops` for n processes, over numbers of z3's."""

    def every(self, holds: Callable[[int], Value]) -> Term:
        return z3.And([as_term(holds(k)) for k in range(self.n)])

    def all_of(self, *conditions: Value) -> Term:
        return z3.And([as_term(condition) for condition in conditions])

    def maximum(self, a: Any, b: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(map(self.maximum, a, b))
        return z3.If(as_term(a) >= as_term(b), as_term(a), as_term(b))

    def one_if(self, *conditions: Value) -> Value:
        if all(isinstance(condition, bool) for condition in conditions):
            return int(all(conditions))
        return z3.If(z3.And([as_term(condition) for condition in conditions]), 1, 0)


class Slot(NamedTuple):
    """A message in flight, or none."""

    taken: Term
    channel: Term  #: which sender and receiver, by number; 0 if there is none
    stamp: Any
    known: tuple[Term, ...]  #: by process: True if it knows of the message
    precedes: tuple[Term, ...]  #: by slot: True if it happened before the message there


@dataclass(frozen=True)
class BoundedState:
    local: tuple[Any, ...]
    slots: tuple[Slot, ...]

    @property
    def terms(self) -> list[Term]:
        return [as_term(leaf) for leaf in parts((self.local, self.slots))]


class BoundedSystem:
    """The protocol, for n processes and that many slots."""

    def __init__(self, protocol: type[ProtocolMachine], n: int, slots: int) -> None:
        for_every_n(protocol, Terms())  # raises TypeError if a transition branches on a value
        self.machine = protocol(n, Numbers(n))
        self.n, self.slots = n, slots
        self.channels = list(permutations(range(n), 2))
        self.start = BoundedState(tuple(self.machine.initial(i) for i in range(n)), (self._free(),) * slots)
        self.before = self._any()

    def _free(self) -> Slot:
        i, j = self.channels[0]
        (step,) = self.machine.send(i, self.machine.initial(i), Message("m", i, (j,)))
        nothing = _like(step.packets[0].stamp, lambda leaf: 0)
        no = z3.BoolVal(False)
        return Slot(no, z3.IntVal(0), nothing, (no,) * self.n, (no,) * self.slots)

    def _any(self) -> BoundedState:
        """A moment of which nothing is known, each part by its name."""

        def of(value: Any, name: str, whose: str) -> Any:
            names = iter(_entry_names(value, name, whose))
            return _like(value, lambda leaf: z3.Int(next(names)))

        local = tuple(of(state, "state", f"P{i + 1}") for i, state in enumerate(self.start.local))
        slots = []
        for s, slot in enumerate(self.start.slots):
            m = _message(s)
            known = tuple(z3.Bool(f"P{p + 1} knows {m}") for p in range(self.n))
            precedes = tuple(z3.Bool(f"{m} before {_message(other)}") for other in range(self.slots))
            slots.append(
                Slot(z3.Bool(f"{m} in flight"), z3.Int(f"channel of {m}"), of(slot.stamp, "stamp", m), known, precedes)
            )
        return BoundedState(local, tuple(slots))

    def steps(self) -> Iterator[tuple[str, Term, BoundedState]]:
        """The possible steps: name, condition, and state afterwards."""
        for s, (i, j) in product(range(self.slots), self.channels):
            yield f"P{i + 1} sends {_message(s)} to P{j + 1}", *self._sending(s, i, j)
        for s, (i, j) in product(range(self.slots), self.channels):
            yield f"P{j + 1} delivers {_message(s)} from P{i + 1}", *self._delivering(s, i, j)

    def _sending(self, s: int, i: int, j: int) -> tuple[Term, BoundedState]:
        """Into the first slot that is free."""
        before = self.before
        (step,) = self.machine.send(i, before.local[i], Message("m", i, (j,)))
        free = z3.And(z3.Not(before.slots[s].taken), *[slot.taken for slot in before.slots[:s]])
        no = z3.BoolVal(False)
        new = Slot(
            z3.BoolVal(True),
            z3.IntVal(self.channels.index((i, j))),
            step.packets[0].stamp,
            tuple(z3.BoolVal(p == i) for p in range(self.n)),
            (no,) * self.slots,
        )
        slots = [
            new if other == s else slot._replace(precedes=_with(slot.precedes, s, z3.And(slot.taken, slot.known[i])))
            for other, slot in enumerate(before.slots)
        ]
        return free, BoundedState(_with(before.local, i, step.state), tuple(slots))

    def _delivering(self, s: int, i: int, j: int) -> tuple[Term, BoundedState]:
        before = self.before
        it = before.slots[s]
        (step,) = self.machine.on_packet(j, before.local[j], self._packet(s, i, j))
        no = z3.BoolVal(False)
        slots = [
            self.start.slots[s]
            if other == s
            else slot._replace(
                known=_with(slot.known, j, z3.Or(slot.known[j], slot.precedes[s])),
                precedes=_with(slot.precedes, s, no),
            )
            for other, slot in enumerate(before.slots)
        ]
        given = z3.And(self._on(it, i, j), self._accepted(s, i, j))
        return given, BoundedState(_with(before.local, j, step.state), tuple(slots))

    @property
    def unsafe(self) -> Term:
        """A message is accepted, and another to its receiver that happened before it is in flight."""
        before = self.before.slots
        cases = []
        for s, (i, j) in product(range(self.slots), self.channels):
            missing = [
                z3.And(z3.Or([self._on(slot, k, j) for k in range(self.n) if k != j]), slot.precedes[s])
                for other, slot in enumerate(before)
                if other != s
            ]
            cases.append(z3.And(self._on(before[s], i, j), self._accepted(s, i, j), z3.Or(missing)))
        return z3.Or(cases)

    def about(self, name: str, least: int | None, most: int | None) -> str | None:
        """The meaning of a channel's number between these."""
        prefix = "channel of "
        if not name.startswith(prefix):
            return None
        numbers = range(least or 0, len(self.channels) if most is None else most + 1)
        channels = [f"from P{i + 1} to P{j + 1}" for k, (i, j) in enumerate(self.channels) if k in numbers]
        return f"{name.removeprefix(prefix)} is {' or '.join(channels) or 'on no channel'}"

    def _on(self, slot: Slot, i: int, j: int) -> Term:
        return z3.And(slot.taken, slot.channel == self.channels.index((i, j)))

    def _packet(self, s: int, i: int, j: int) -> Packet:
        return Packet(i, j, "message", Message("m", i, (j,)), self.before.slots[s].stamp)

    def _accepted(self, s: int, i: int, j: int) -> Term:
        return as_term(self.machine.deliverable(j, self.before.local[j], self._packet(s, i, j)))


@dataclass(frozen=True)
class Spaced:
    """Spacer's result."""

    protocol: str
    n: int
    slots: int
    #: Proved: an invariant, which z3 confirms. Refuted: a message can be delivered too soon.
    outcome: Literal["proved", "refuted", "unknown"]
    #: What the invariant says, all of it together.
    invariant: tuple[str, ...]
    #: The Horn clauses that were given.
    clauses: int
    reason: str
    remark: str
    seconds: float

    @property
    def scope(self) -> str:
        slots = " and ".join(map(_message, range(self.slots)))
        return (
            f"{self.n} processes; at most {self.slots} messages ({slots}) in flight at any moment, however many in "
            "all: not a proof for every n; channels that lose and duplicate nothing, in any order"
        )

    def lines(self) -> list[str]:
        """The printed lines."""
        because = f": {self.reason}" if self.reason else ""
        found = {
            "proved": f"Spacer finds an invariant of {len(self.invariant)} clauses that shows it safe; z3 confirms it",
            "refuted": "Spacer finds that a message can be delivered too soon",
            "unknown": f"Spacer finds no invariant{because}",
        }
        lines = [f"{self.protocol}: {found[self.outcome]}; {self.scope}"]
        if self.remark:
            lines.append(f"{self.protocol}: {self.remark}")
        return lines + [f"- {clause}" for clause in self.invariant]

    def json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "invariant": list(self.invariant),
            "scope": self.scope,
            "seconds": round(self.seconds, 3),
        }


def spacer(protocol: str | type[ProtocolMachine], n: int = 2, slots: int = 2, effort: int = STEPS) -> Spaced:
    """Let Spacer look for an invariant; raises `BadInput` if the protocol's steps cannot be put to it,
    or for more processes than are worth a try.
    """
    name, machine, remark = form_of(protocol)
    if n > MOST_PROCESSES:
        raise BadInput(
            f"Spacer, {n} processes: beyond 3 it is not known to end",
            hint=f"give 2 or 3, at most {MOST_PROCESSES}; for every n: crownless prove {name} --discover",
        )
    started = time.monotonic()
    try:
        system = BoundedSystem(machine, n, slots)
        steps = list(system.steps())
        if not all(z3.is_expr(term) for _, _, after in steps for term in after.terms):
            raise TypeError("it keeps more than numbers")
    except (TypeError, ValueError, IndexError, AttributeError, AssertionError) as error:
        raise BadInput(
            f"{name}: its steps cannot be put to z3: they branch on what it keeps, or it keeps more than numbers",
            hint=f"crownless check {name} looks at all runs up to a bound",
        ) from error
    variables = system.before.terms
    can_be = z3.Function("can be", *[term.sort() for term in variables], z3.BoolSort())
    wrong = z3.Function("wrong", z3.BoolSort())
    engine = z3.Fixedpoint()
    engine.set(engine="spacer", rlimit=effort)
    engine.set("spacer.random_seed", 0)
    engine.set("xform.slice", False)
    engine.set("xform.inline_linear", False)
    engine.set("xform.inline_eager", False)
    engine.register_relation(can_be, wrong)
    engine.declare_var(*variables)
    engine.rule(can_be(*system.start.terms))
    for _, given, after in steps:
        engine.rule(can_be(*map(z3.simplify, after.terms)), [can_be(*variables), z3.simplify(given)])
    engine.rule(wrong(), [can_be(*variables), z3.simplify(system.unsafe)])
    outcome: Literal["proved", "refuted", "unknown"] = "unknown"
    reason, parts = "", []
    try:
        answer = ask_spacer(engine, wrong())
        reason = reason_for_giving_up(engine.reason_unknown()) if answer == z3.unknown else ""
    except z3.Z3Exception as error:  # how Spacer says that it has come to its limit
        said = error.value.decode() if isinstance(error.value, bytes) else str(error)
        answer, reason = z3.unknown, reason_for_giving_up(said)
    if answer == z3.sat:
        outcome = "refuted"
    elif answer == z3.unsat:
        # What holds at every depth of the search.
        invariant = z3.substitute_vars(engine.get_cover_delta(-1, can_be), *variables)
        parts = conjuncts(invariant)
        if _inductive(system, steps, z3.And(parts)):
            outcome = "proved"
        else:
            reason = "z3 does not confirm the invariant"
    return Spaced(
        name,
        n,
        slots,
        outcome,
        tuple(render_clause(part, system.about) for part in parts),
        len(steps) + 2,
        reason,
        remark,
        time.monotonic() - started,
    )


def _inductive(system: BoundedSystem, steps: Sequence[tuple[str, Term, BoundedState]], invariant: Term) -> bool:
    """True if it holds at the start, is kept by each step, and excludes violations."""
    variables = system.before.terms

    def at(moment: BoundedState) -> Term:
        return z3.substitute(invariant, *zip(variables, moment.terms, strict=True))

    claims = [z3.Not(at(system.start)), z3.And(invariant, system.unsafe)]
    claims += [z3.And(invariant, given, z3.Not(at(after))) for _, given, after in steps]
    for claim in claims:
        solver = z3.Solver()
        solver.add(claim)
        if ask(solver) != z3.unsat:
            return False
    return True


# -- values ------------------------------------------------------------------------------------------------------------


def _message(slot: int) -> str:
    return "xyzuvw"[slot]


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _like(value: Any, of: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple):
        parts = [_like(part, of) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return of(value)


def _entry_names(value: Any, name: str, whose: str, at: str = "") -> Iterator[str]:
    """The names of the numbers in a value, in order."""
    if not isinstance(value, tuple):
        yield f"{name}_{whose}{at}"
    elif hasattr(value, "_fields"):
        for field, part in zip(value._fields, value, strict=True):
            yield from _entry_names(part, field.upper(), whose, at)
    else:
        for k, part in enumerate(value):
            yield from _entry_names(part, name, whose, f"{at}[{k + 1}]")
