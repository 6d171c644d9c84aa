"""The time that packets are in flight. The unit of time is the mean latency: every distribution here has mean 1.

Each packet's latency is drawn independently, so that packets overtake each other; if all take the same time
(`constant`), the channel is FIFO by itself.
"""

import math
import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from crownless.runtime.errors import unknown_name

#: (randomness, source, destination) → the time that a packet takes.
Draw = Callable[[random.Random, int, int], float]


class Latency(NamedTuple):
    """A distribution of latencies: `links` makes the function that draws them, from a system's size and randomness."""

    meaning: str
    links: Callable[[int, random.Random], Draw]


#: Shape of the Pareto distribution: finite variance, infinite skewness.
PARETO_SHAPE = 2.5
#: Standard deviation of the logarithm in the lognormal distribution.
SIGMA = 1.0


def _alike(draw: Callable[[random.Random], float]) -> Callable[[int, random.Random], Draw]:
    """All links alike."""
    return lambda n, links: lambda random, source, destination: draw(random)


def _asymmetric(n: int, links: random.Random) -> Draw:
    """Each directed link has its own mean, also the two directions; around it latencies are exponential."""
    means = [[links.uniform(0.1, 1.9) for _ in range(n)] for _ in range(n)]
    return lambda random, source, destination: random.expovariate(1 / means[source][destination])


LATENCIES: Mapping[str, Latency] = MappingProxyType(
    {
        "constant": Latency("always 1", _alike(lambda random: 1.0)),
        "uniform": Latency("uniform from 0 to 2", _alike(lambda random: random.uniform(0, 2))),
        "exponential": Latency("exponential, mean 1", _alike(lambda random: random.expovariate(1))),
        "lognormal": Latency(
            f"lognormal, mean 1, standard deviation {math.sqrt(math.exp(SIGMA**2) - 1):.2f}",
            _alike(lambda random: random.lognormvariate(-(SIGMA**2) / 2, SIGMA)),
        ),
        "pareto": Latency(
            f"Pareto, shape {PARETO_SHAPE}, mean 1: a heavy tail",
            _alike(lambda random: (PARETO_SHAPE - 1) / PARETO_SHAPE * random.paretovariate(PARETO_SHAPE)),
        ),
        "links": Latency("exponential; the mean of each directed link drawn once, from 0.1 to 1.9", _asymmetric),
    }
)


def latency_named(name: str) -> Latency:
    """The distribution of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in LATENCIES:
        raise unknown_name("latency", name, LATENCIES)
    return LATENCIES[name]


#: Second moments of the round trip, two independent latencies of mean 1 (of finite variance, each 1 + variance).
ROUND_TRIP = {"constant": 4.0, "exponential": 6.0, "pareto": 4 + 2 * (1 / (2.5 * 0.5))}


def output_wait(load: float, latency: str) -> float:
    """The mean wait of a message in the output buffer by theory: Pollaczek and Khinchine's formula.

    The buffer is a queue with random arrivals (`load`), its service a round trip of mean 2: so below a load of 1/2.
    """
    return load * ROUND_TRIP[latency] / (2 * (1 - 2 * load))
