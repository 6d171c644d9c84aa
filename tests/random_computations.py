"""Random computations with multicasts and lost messages, most of which nearly keep the orders."""

from __future__ import annotations

from random import Random

from crownless.spec.computation import Computation, Event, Message


def random_computation(random: Random) -> Computation:
    """At most 5 processes and 6 messages, each to at most 3 of them; channels are mostly FIFO, and may lose."""
    n, m = random.choice((3, 3, 4, 5)), random.choice((4, 5, 6))
    self_sends = random.random() < 0.2
    multicast, lost = random.choice((0, 0.5, 0.8)), random.choice((0, 0.1, 0.2))
    messages: list[Message] = []
    lines: list[list[Event]] = [[] for _ in range(n)]
    in_flight: list[tuple[int, int]] = []
    while len(messages) < m or in_flight:
        if len(messages) < m and (not in_flight or random.random() < 0.7):
            sender = random.randrange(n)
            others = [q for q in range(n) if q != sender or self_sends]
            size = min(random.choice((2, 2, 3)), len(others)) if random.random() < multicast else 1
            receivers = tuple(sorted(random.sample(others, size)))
            lines[sender].append(Event("send", len(messages)))
            in_flight += [(len(messages), q) for q in receivers]
            messages.append(Message(f"m{len(messages)}", sender, receivers))
        else:
            first: dict[tuple[int, int], tuple[int, int]] = {}
            for message, q in in_flight:
                first.setdefault((messages[message].sender, q), (message, q))
            message, q = random.choice(in_flight if random.random() < 0.03 else list(first.values()))
            in_flight.remove((message, q))
            if random.random() >= lost:
                lines[q].append(Event("receive", message))
    return Computation.of_lines(n, messages, lines)
