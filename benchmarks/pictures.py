"""Diagrams and the run explorer's page: how long they take to make, and how large they are.

    python benchmarks/pictures.py [--runs 5]

A random computation of 200 messages among 3 and among 12 processes as SVG, and the page of `rst` with 3 processes and 4
messages. Seconds are the median of the runs, and their range.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

from crownless.model_check.request import Check
from crownless.model_check.run_explorer.page import explorer_page
from crownless.model_check.run_explorer.subjects import of_check
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.diagrams.emphasis import diagram_of
from crownless.spec.diagrams.svg import in_svg

MESSAGES = 200


def computation(processes: int, seed: int) -> Computation:
    """Any process sends to any other; of the messages on their way one of the three oldest arrives next."""
    choose = random.Random(seed)
    lines: list[list[Event]] = [[] for _ in range(processes)]
    messages: list[Message] = []
    flight: list[int] = []
    while len(messages) < MESSAGES or flight:
        if len(messages) < MESSAGES and (len(flight) < processes or choose.random() < 0.5):
            sender, receiver = choose.sample(range(processes), 2)
            lines[sender].append(Event("send", len(messages)))
            flight.append(len(messages))
            messages.append(Message(f"m{len(messages) + 1}", sender, (receiver,)))
        else:
            m = flight.pop(choose.randrange(min(3, len(flight))))
            lines[messages[m].receiver].append(Event("receive", m))
    return Computation.of_lines(processes, messages, lines)


def measure(name: str, make: Callable[[], str], runs: int) -> None:
    """Prints one line."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        made = make()
        times.append(time.perf_counter() - began)
    spread = f"{min(times):.3f} to {max(times):.3f}"
    print(f"{name:<42} {statistics.median(times):.3f} s ({spread}), {len(made.encode()) / 1000:,.0f} KB")


def _svg(c: Computation) -> str:
    return in_svg(diagram_of(c))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for processes in (3, 12):
        c = computation(processes, seed=processes)
        measure(f"SVG: {MESSAGES} messages, {processes} processes", partial(_svg, c), options.runs)

    def page() -> str:
        return explorer_page(of_check(Check("rst", 3, 4)).space.as_data(), "rst")

    measure("explorer's page: rst, 3 processes, 4 messages", page, min(options.runs, 3))


if __name__ == "__main__":
    main()
