"""Replay of a failed proof: a state against it, and a real run of the protocol's machine, where one exists.

z3's model of a step that fails is a state, of which nothing says that a run comes to it. So the machine sends a few
messages between two or three processes, in every interleaving; of the first few that break what was to be proved, z3 is
asked for a claim that fails in a state in which just these are sent. Where there is none, it is the other way about:
the machine sends what is sent in the state of the model, and if that breaks nothing, as many messages (at least three)
between any of as many processes. If none of these runs breaks anything, it may be the proof that lacks an invariant,
not the protocol that is broken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations, combinations_with_replacement, permutations
from typing import NamedTuple

import z3

from crownless.impl.channels import Unordered
from crownless.impl.workloads import Free, PendingSend, Position
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.properties import properties_of
from crownless.proofs.language.terms import Term
from crownless.runtime.ending import Limits

from .any_run import AnyRun
from .causal_order import CausalOrder
from .theorem import theorem

#: States with more processes or messages are not replayed, and a search for a run ends beyond so many states.
MOST_PROCESSES, MOST_MESSAGES, MOST_STATES = 4, 4, 100_000

#: What is to be proved, up to a bound.
BREAKS = ("fifo", "causal", "delivers-all")

#: The sender, and the receivers.
Channel = tuple[int, tuple[int, ...]]


class Sending(Free):
    """The free workload of so many messages on each channel, at most."""

    def __init__(self, n: int, most: Mapping[Channel, int]) -> None:
        several = any(len(receivers) > 1 for _, receivers in most)
        super().__init__(n, sum(most.values()), sends="multicast" if several else "unicast")
        self._most = [most.get(channel, 0) for channel in self.channels]

    def pending_sends(self, position: Position, at: int | None = None) -> Sequence[PendingSend]:
        return [
            pending
            for pending in super().pending_sends(position, at)
            if all(sent <= most for sent, most in zip(pending.after, self._most, strict=True))
        ]


class Replayed(NamedTuple):
    """The replay of a claim that is not proved."""

    claim: str
    processes: int
    #: The messages that are sent in the state, on each channel; none, if no state of a few was found.
    sent: Mapping[Channel, int]
    #: A shortest run that breaks what was to be proved, if there is one.
    run: Run | None
    #: True if it sends messages of the state and no others.
    same_messages: bool
    #: The property that it breaks.
    breaks: str = ""


def replayed(proof: CausalOrder, failures: Sequence[tuple[str, Term]]) -> Replayed:
    """A run of the fewest messages, and a claim whose state it fits; else the first of these claims, each with a model
    if z3 has one, whose state leads to a run; else the first claim.
    """
    smallest = _smallest(proof, [name for name, _ in failures])
    if smallest is not None:
        return smallest
    first: Replayed | None = None
    tried: list[tuple[int, Mapping[Channel, int]]] = []
    for name, n, sent in _situations(proof, failures):
        if (n, sent) in tried:
            continue
        tried.append((n, sent))
        first = first or Replayed(name, n, sent, None, False)
        broken = _broken_run(proof, n, Sending(n, sent))
        if broken is not None:
            return Replayed(name, n, sent, broken[0], True, broken[1])
    first = first or Replayed(failures[0][0], 3, {}, None, False)
    free = Free(first.processes, max(3, sum(first.sent.values())), sends=proof.protocol.sends)
    broken = _broken_run(proof, first.processes, free)
    return first if broken is None else first._replace(run=broken[0], breaks=broken[1])


def _smallest(proof: CausalOrder, claims: Sequence[str]) -> Replayed | None:
    """The fewest messages that break something and are those of a state in which a claim fails, with that claim."""
    of_three = proof.claims_of_three()
    run, things = proof.of_three()
    messages, processes = things[run.message], things[run.terms.process]
    several = proof.protocol.sends != "unicast"
    for sent in chain.from_iterable(few_messages(total, several=several) for total in range(1, len(messages) + 1)):
        n = 1 + max(p for i, to in sent for p in (i, *to))
        broken = _broken_run(proof, n, Sending(n, Counter(sent)))
        if broken is None:
            continue
        for name in claims:
            _, given, shows = of_three(name)
            these = {"these are sent": _are_sent(run, sent, messages, processes)}
            if theorem(name, {**given, **these}, shows).outcome == "refuted":
                return Replayed(name, n, Counter(sent), broken[0], True, broken[1])
    return None


def few_messages(total: int, *, several: bool) -> Iterator[tuple[Channel, ...]]:
    """So many messages among two or three processes, each system once up to the names of processes; `several`: also to
    several receivers.
    """
    for n in (2, 3):
        sizes = range(1, n if several else 2)
        channels = [
            (i, to) for i in range(n) for size in sizes for to in combinations([p for p in range(n) if p != i], size)
        ]
        for sent in combinations_with_replacement(channels, total):
            used = {p for i, to in sent for p in (i, *to)}
            if len(used) == n and sent == min(_renamed(sent, image) for image in permutations(range(n))):
                yield sent


def _renamed(sent: tuple[Channel, ...], image: Sequence[int]) -> tuple[Channel, ...]:
    return tuple(sorted((image[i], tuple(sorted(image[p] for p in to))) for i, to in sent))


def _are_sent(run: AnyRun, sent: tuple[Channel, ...], messages: Sequence[Term], processes: Sequence[Term]) -> Term:
    """These messages are sent before or by the step, and no others."""
    conditions = []
    for k, x in enumerate(messages):
        is_sent = z3.Or(x == run.m, run.before.sent(x))
        if k >= len(sent):
            conditions.append(z3.Not(is_sent))
            continue
        i, to = sent[k]
        conditions += [is_sent, run.sender(x) == processes[i]]
        conditions += [run.to(x, p) if j in to else z3.Not(run.to(x, p)) for j, p in enumerate(processes)]
    return z3.And(*conditions)


def _situations(
    proof: CausalOrder, failures: Sequence[tuple[str, Term]]
) -> Iterator[tuple[str, int, Mapping[Channel, int]]]:
    """Of each claim: its name, processes and messages of the model that z3 has, and of one of three of each."""
    of_three = proof.claims_of_three()
    any_run, (run_of_three, _) = proof.world(proof.protocol), proof.of_three()
    for name, model in failures:
        for run in (any_run, run_of_three):
            situation = model if run is any_run else theorem(*of_three(name)).model
            if situation is not None:
                n, sent = messages_of(run, situation)
                if sent and 2 <= n <= MOST_PROCESSES and sent.total() <= MOST_MESSAGES:
                    yield name, n, sent


def _broken_run(proof: CausalOrder, n: int, workload: Free) -> tuple[Run, str] | None:
    """A shortest run that breaks FIFO or causal order, or does not deliver all, and which of them."""
    machine = proof.protocol(n)
    orders = ("fifo", "causal")
    properties = tuple(known for known in properties_of(machine, orders, program=False) if known.name in BREAKS)
    check = Check(machine, workload=workload, channel=Unordered, orders=orders, properties=properties)
    found = run_check(check, Limits(states=MOST_STATES), engine="plain")
    runs = [(each.run, name) for name, each in found.violations.items() if each.run is not None]
    return min(runs, key=lambda shown: len(shown[0]), default=None)


def messages_of(run: AnyRun, model: Term) -> tuple[int, Counter[Channel]]:
    """How many processes there are in a state, and how many messages are sent on each channel."""
    processes = _universe(model, run.terms.process)

    def is_true(truth: Term) -> bool:
        return bool(z3.is_true(model.eval(truth, model_completion=True)))

    def number(process: Term) -> int:
        value = model.eval(process, model_completion=True)
        return next(k for k, each in enumerate(processes) if each.eq(value))

    def receivers(x: Term) -> tuple[int, ...]:
        return tuple(k for k, p in enumerate(processes) if is_true(run.to(x, p)))

    m = model.eval(run.m, model_completion=True)
    sent = [x for x in _universe(model, run.message) if x.eq(m) or is_true(run.before.sent(x))]
    channels = [(number(run.sender(x)), receivers(x)) for x in sent]
    return len(processes), Counter((i, to) for i, to in channels if to and i not in to)


def _universe(model: Term, sort: Term) -> Sequence[Term]:
    """The elements of a sort: those of z3's model, or those it is declared with."""
    if sort.kind() == z3.Z3_DATATYPE_SORT:
        return [sort.constructor(k)() for k in range(sort.num_constructors())]
    return model.get_universe(sort) or []
