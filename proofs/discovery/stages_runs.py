"""Random runs of an abstraction of queues (`proofs.stages`), and tabulated states of a few processes and messages.

The runs are of the abstraction itself, in its reading by `ConcreteLogic`; of a state each function is tabulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np

from crownless.proofs.queues import QueueProof
from crownless.proofs.stages import About, Abstraction, AbstractState, ConcreteLogic, Part, StageEvent

#: A run of a broken abstraction may have no end.
EVENTS = 8

#: Truth values or numbers, by the processes and messages that a function is of.
Array = Any


@dataclass(frozen=True)
class TabulatedState:
    """A moment of an abstraction. Processes and messages are numbered from 0; `values`: each function's, by name."""

    n: int
    messages: int
    clock: int
    values: Mapping[str, Array]

    @property
    def things(self) -> Mapping[str, int]:
        """How many there are of each sort."""
        return {"process": self.n, "message": self.messages}


def concrete(kind: type[Abstraction], now: TabulatedState, about: About) -> Abstraction:
    """The abstraction at that moment, in plain values."""

    def functions(parts: Mapping[str, Part]) -> dict[str, Any]:
        return {name: _looked_up(now.values[name].tolist()) for name in parts}

    logic = ConcreteLogic(now.n, list(range(now.messages)))
    return kind(logic, functions(kind.lasting), AbstractState(now.clock, **functions(kind.changing)), about)


def _looked_up(table: Any) -> Callable[..., Any]:
    def value(*of: int) -> Any:
        entry = table
        for place in of:
            entry = entry[place]
        return entry

    return value


def all_events(run: Abstraction) -> list[StageEvent]:
    """All that may happen to the process and the messages that the run is about."""
    return [*run.events(), *run.events_with_another()]


def after(run: Abstraction, event: StageEvent | None, now: TabulatedState) -> TabulatedState:
    """The moment after an event of the run, whose moment is `now`; None: the start."""
    then = run.start() if event is None else event.after
    values = {name: _tabulated(part, getattr(then, name), now) for name, part in run.changing.items()}
    for name, part in run.lasting.items():
        values[name] = now.values[name]
        if event is not None and name in event.fixes:
            where, is_ = event.fixes[name]
            fixed = _tabulated(Part(part.of, "truth"), where, now)
            values[name] = np.where(fixed, _tabulated(part, is_, now), values[name])
    return TabulatedState(now.n, now.messages, then.clock, values)


def _tabulated(part: Part, of: Any, now: TabulatedState) -> Array:
    sizes = [now.things[sort] for sort in part.of]
    some = [of(*places) for places in product(*map(range, sizes))]
    return np.array(some, dtype=bool if part.is_ == "truth" else int).reshape(sizes)


def anything(proof: QueueProof, n: int, messages: int, random: Random) -> TabulatedState:
    """Nothing is known of it but the axioms: what is said without need of what is not yet fixed shall be wrong."""
    kind = proof.abstraction
    while True:
        at = {"process": n, "message": messages, "number": 4 * messages, "truth": 2}
        values = {
            name: np.array(
                [random.randrange(at[part.is_]) for _ in product(*[range(at[sort]) for sort in part.of])],
                dtype=bool if part.is_ == "truth" else int,
            ).reshape([at[sort] for sort in part.of])
            for name, part in {**kind.changing, **kind.lasting}.items()
        }
        now = TabulatedState(n, messages, random.randrange(at["number"]), values)
        run = concrete(kind, now, About(0, 0, 0))
        if all(holds(run, run.before, run.logic) for holds in proof.axioms.values()):
            return now


def simulated(proof: QueueProof, n: int, messages: int, random: Random) -> Iterator[tuple[TabulatedState, bool]]:
    """Every moment of a random run, of so many events a message at most; and whether what is called safe is wrong
    there, of what happens next.
    """
    kind = proof.abstraction
    start = anything(proof, n, messages, random)
    run = concrete(kind, TabulatedState(n, messages, 0, start.values), About(0, 0, 0))
    now = after(run, None, TabulatedState(n, messages, 0, start.values))
    abouts = [About(*some) for some in product(range(n), range(messages), range(messages))]
    for _ in range(EVENTS * messages):
        random.shuffle(abouts)
        chosen = next(
            (
                (run, event)
                for about in abouts
                for run in [concrete(kind, now, about)]
                for event in random.sample(all_events(run), len(all_events(run)))
                if all(event.given.values())
            ),
            None,
        )
        if chosen is None:
            yield now, False
            return
        yield now, not is_safe(proof, chosen[0])
        now = after(*chosen, now)
    yield now, False


def is_safe(proof: QueueProof, run: Abstraction) -> bool:
    """True if the run is safe here, for the messages and process that it is about."""
    _, follows = proof.follows["safe"]
    return all(shows or not all(given.values()) for given, shows in follows(run).values())
