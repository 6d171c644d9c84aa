"""The simulated experiments that the page of costs is made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from crownless.research.costs.experiment import Experiment, combinations
from crownless.research.costs.traffic import BURST

#: Repetitions of each experiment.
SEEDS = 6
LOADS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.2, 0.3, 0.4, 0.45)
FEW_LOADS = (0.02, 0.05, 0.1, 0.2, 0.3)
BANDWIDTHS = (20, 40, 80, 120, 160, 250, 400, 800, 1600, 3200)


def thresholds(n: int) -> tuple[int, ...]:
    """Values of k from the least that the text allows to the greatest."""
    some = (n + 1, n + n // 2, 2 * n, 3 * n, n * n // 2, n * n)
    return tuple(sorted({k for k in some if n < k <= n * n}))


def mixed(n: int) -> tuple[int, ...]:
    """Half of the processes clear as soon as the text allows, the others never (there are n² − n entries at most)."""
    return (n + 1, n * n) * (n // 2)


def enough(load: float, together: int = 1) -> int:
    """The number of messages after which an output buffer is as full as it is in the long run.

    A queue forgets how it began in a time that goes with 1/(1 − ρ)². Its server, a round trip, is busy for ρ = 2 · load
    of the time; and fewer moments at which something is submitted, several messages `together`, show less.
    """
    return max(1000, round(300 * together / (1 - 2 * load) ** 2))


def _delay(seeds: int) -> Iterator[Experiment]:
    """The buffer protocol's delay beside the matrix protocol's, as the load grows (MF24)."""
    causal = partial(combinations, ("rst", "buffer", "buffer-pipelined"), processes=(6,), seeds=seeds)
    for load in LOADS:
        yield from causal(loads=(load,), latencies=("constant", "exponential", "pareto"), messages=enough(load))
    for load in FEW_LOADS:
        yield from causal(loads=(load,), workloads=("bursts",), messages=enough(load, BURST))
        yield from causal(loads=(load,), workloads=("pairs",), messages=enough(load))
        yield from causal(loads=(load,), workloads=("client-server",), messages=1000)


def _bandwidth(seeds: int) -> Iterator[Experiment]:
    """The same where lines are narrow, so that stamps take time (MF24, footnote 5)."""
    for n, messages in ((4, 3000), (16, 1500)):
        yield from combinations(
            ("unordered", "rst", "optimal", "buffer"),
            processes=(n,), bandwidths=BANDWIDTHS, seeds=max(2, seeds * 2 // 3), messages=messages,
        )  # fmt: skip


def _synchronous(seeds: int) -> Iterator[Experiment]:
    """Murty & Garg's algorithm beside the one that blocks, where that does not get stuck, and where it does (MG21)."""
    both = ("rendezvous", "murty-garg")
    loads = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
    for workload, messages in (("client-server", 1000), ("downward", 3000), ("upward", 3000)):
        yield from combinations(
            both, processes=(6,), workloads=(workload,), loads=loads, seeds=seeds, messages=messages
        )
    yield from combinations(both, processes=(6,), loads=(0.02, 0.05, 0.1, 0.15), seeds=seeds, messages=1000)


def _control(seeds: int) -> Iterator[Experiment]:
    """Control messages of Murty & Garg's algorithm (MG19)."""
    workloads = ("uniform", "pairs", "client-server", "downward", "upward")
    yield from combinations(
        ("murty-garg",), processes=(4, 8), workloads=workloads, loads=(0.02,), seeds=seeds, messages=1000
    )


def _withheld(seeds: int) -> Iterator[Experiment]:
    """The delay by the priority rule and the receive condition (MG20); latencies of 1, or of 2 at most."""
    for latency in ("constant", "uniform"):
        for n in (3, 4, 6, 8, 12):
            yield from combinations(
                ("murty-garg",), processes=(n,), latencies=(latency,), loads=(0.05, 0.15), seeds=seeds, messages=1500
            )
        yield from combinations(
            ("murty-garg",), processes=(6,), workloads=("upward",), latencies=(latency,), loads=(0.005,), seeds=seeds,
            messages=1000,
        )  # fmt: skip


def _thresholds(seeds: int) -> Iterator[Experiment]:
    """Extra messages: how many, how large, how long they delay (SA13)."""
    # Matrices fill in a time that goes with the number of pairs of processes.
    for n, loads, messages in ((4, (0.1, 1.0), 600), (8, (0.1, 1.0), 800), (12, (0.1,), 2000)):
        of = partial(combinations, processes=(n,), loads=loads, seeds=max(2, seeds * 2 // 3), messages=messages)
        yield from of(("extra-messages",), parameters=[*({"k": k} for k in thresholds(n)), {"k": mixed(n)}])
        yield from of(("optimal", "rst", "ses"))
    for load in (0.03, 0.3, 3.0):
        of = partial(combinations, processes=(8,), loads=(load,), seeds=max(2, seeds * 2 // 3), messages=800)
        yield from of(("extra-messages",), parameters=[{"k": 9}, {"k": 16}])
        yield from of(("optimal",))


def _sizes(seeds: int) -> Iterator[Experiment]:
    """Bytes that each protocol adds to a message, as systems grow."""
    some = ("fifo-sequence", "rst", "ses", "ses-delete", "optimal", "buffer", "murty-garg")
    few = max(2, seeds // 2)
    yield from combinations(some, processes=(4, 8, 16, 32), loads=(0.02,), seeds=few, messages=800)
    yield from combinations(
        ("cbcast",), processes=(4, 8, 16, 32), loads=(0.02,), workloads=("broadcast",), seeds=few, messages=800
    )
    for n in (4, 8, 12):
        for k in (n + 1, 2 * n):
            yield from combinations(
                ("extra-messages",), processes=(n,), loads=(0.02,), parameters=[{"k": k}], seeds=few, messages=800
            )


#: The studies of the page by name: given how often each experiment is repeated, what is simulated.
STUDIES = {
    "delay": _delay, "bandwidth": _bandwidth, "control": _control, "withheld": _withheld, "synchronous": _synchronous,
    "thresholds": _thresholds, "sizes": _sizes,
}  # fmt: skip


def of_the_page(seeds: int = SEEDS) -> list[Experiment]:
    """All that the page needs."""
    return [experiment for study in STUDIES.values() for experiment in study(seeds)]
