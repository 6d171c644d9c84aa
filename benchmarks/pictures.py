"""Diagrams and the run explorer's page: how long they take to make, and how large they are.

    python benchmarks/pictures.py [--runs 5]

Random computations of 200 messages among 3 and among 12 processes as SVG, and unfriendly ones: all arrows cross, names
are long, each message is for all, there are thousands of events, or a hundred processes; and the page of `rst` with 3
processes and 4 messages. Seconds are those of the processor: the median of the runs, and their range.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from crownless.drawing.diagram import Diagram
from crownless.drawing.emphasis import diagram_of
from crownless.drawing.excerpt import excerpt
from crownless.drawing.svg import in_svg
from crownless.model_check.system.request import Check
from crownless.run_explorer.page import explorer_page
from crownless.run_explorer.subjects import of_check
from crownless.spec.computation import Computation, Event, Message

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


def crossing(processes: int, name: str = "m") -> Computation:
    """All is sent by one half of the processes before the other half receives it, the last first."""
    half = processes // 2
    lines: list[list[Event]] = [[] for _ in range(processes)]
    messages = [Message(f"{name}{k + 1}", k % half, (half + k // half % half,)) for k in range(MESSAGES)]
    for k, message in enumerate(messages):
        lines[message.sender].append(Event("send", k))
        lines[message.receiver].insert(0, Event("receive", k))
    return Computation.of_lines(processes, messages, lines)


def broadcasts(processes: int) -> Computation:
    """Each process receives what all others broadcast, in an order of its own."""
    everybody = range(processes)
    messages = [
        Message(f"m{k + 1}", k % processes, tuple(q for q in everybody if q != k % processes)) for k in range(MESSAGES)
    ]
    lines: list[list[Event]] = []
    for p in everybody:
        received = [Event("receive", k) for k, message in enumerate(messages) if message.sender != p]
        random.Random(p).shuffle(received)
        lines.append([Event("send", k) for k in range(p, MESSAGES, processes)] + received)
    return Computation.of_lines(processes, messages, lines)


def renamed(c: Computation, name: str) -> Computation:
    """The same computation, whose messages have longer names."""
    messages = tuple(message._replace(name=f"{name}{message.name}") for message in c.messages)
    return Computation(c.processes, messages, c.lines)


def internal_events(count: int) -> Computation:
    """One message, and so many internal events after it is sent."""
    return Computation.of_lines(
        2, [Message("m", 0, (1,))], [[Event("send", 0), *[Event("internal", None)] * count], [Event("receive", 0)]]
    )


def relay(processes: int) -> Computation:
    """Each process sends to the next when it has received."""
    messages = [Message(f"m{p + 1}", p, (p + 1,)) for p in range(processes - 1)]
    lines = [[*([Event("receive", p - 1)] if p else []), Event("send", p)] for p in range(processes - 1)]
    return Computation.of_lines(processes, messages, [*lines, [Event("receive", processes - 2)]])


#: The computations that are drawn.
LONG = "W" * 50
DRAWN: dict[str, Callable[[], Computation]] = {
    "random, 3 processes": lambda: computation(3, seed=3),
    "random, 12 processes": lambda: computation(12, seed=12),
    "random, 12 processes, long names": lambda: renamed(computation(12, seed=12), LONG),
    "all crossing, 2 processes": lambda: crossing(2),
    "all crossing, 4 processes": lambda: crossing(4),
    "all crossing, 12 processes": lambda: crossing(12),
    "all crossing, 12 processes, long names": lambda: crossing(12, LONG),
    "broadcasts, 12 processes": lambda: broadcasts(12),
    "broadcasts, 40 processes": lambda: broadcasts(40),
    "20,000 internal events": lambda: internal_events(20_000),
    "a relay of 150 processes": lambda: relay(150),
}


def measure(name: str, make: Callable[[], str], runs: int) -> None:
    """Prints one line."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        made = make()
        times.append(time.process_time() - began)
    spread = f"{min(times):.3f} to {max(times):.3f}"
    print(f"{name:<45} {statistics.median(times):.3f} s ({spread}), {len(made.encode()) / 1000:,.0f} KB")


def _svg(part: Diagram) -> str:
    return in_svg(replace(part))  # which knows nothing of rows yet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for name, make in DRAWN.items():
        measure(f"SVG: {name}", partial(_svg, excerpt(diagram_of(make()))), options.runs)

    def page() -> str:
        return explorer_page(of_check(Check("rst", 3, 4)).space.as_data(), "rst")

    measure("explorer's page: rst, 3 processes, 4 messages", page, min(options.runs, 3))


if __name__ == "__main__":
    main()
