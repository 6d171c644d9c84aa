"""Sequences of application events, any that make sense, and what a monitor reports of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from hypothesis import strategies as st

from crownless.model_check.system.monitors import Monitor, Observation
from crownless.spec.computation import Computation, Message

#: What a monitor has reported on the way to a node.
Reported = frozenset[str]


def sends(message: Message) -> Observation:
    return Observation("send", message.sender, message)


def delivers(message: Message) -> Observation:
    return Observation("deliver", message.receiver, message)


@st.composite
def sequences(
    draw: st.DrawFn, *, self_sends: bool = True, early: bool = False, again: Sequence[str] = ()
) -> tuple[int, list[Observation]]:
    """Application events of n processes in any order that makes sense.

    `early`: a message may be delivered before it is sent. `again`: kinds of events that may be repeated.
    """
    n = draw(st.integers(2, 4))
    messages = []
    for k in range(draw(st.integers(1, 4))):
        sender = draw(st.integers(0, n - 1))
        others = [q for q in range(n) if q != sender or self_sends]
        receivers = draw(st.sets(st.sampled_from(others), min_size=1, max_size=2))
        messages.append(Message(f"m{k + 1}", sender, tuple(sorted(receivers))))
    happened: list[Observation] = []
    length = draw(st.integers(0, 3 * len(messages)))
    while len(happened) < length:
        possible = list(map(sends, messages))
        for message in messages:
            if early or sends(message) in happened:
                possible += [Observation("deliver", q, message) for q in message.receivers]
        possible = [event for event in possible if event not in happened or event.kind in again]
        if not possible:
            break
        happened.append(draw(st.sampled_from(possible)))
    return n, happened


def lines_of(n: int, happened: Sequence[Observation]) -> list[list[tuple[str, Message]]]:
    """The first occurrence of every event, on its process's line."""
    lines: list[list[tuple[str, Message]]] = [[] for _ in range(n)]
    for kind, process, message in happened:
        event = ("send" if kind == "send" else "receive", message)
        if event not in lines[process]:
            lines[process].append(event)
    return lines


def computation_of(n: int, happened: Sequence[Observation]) -> Computation:
    return Computation.of_message_lines(lines_of(n, happened))


def reported_by(monitor: Monitor, happened: Sequence[Observation]) -> list[Reported]:
    """What the monitor has reported so far, after each event. Each message is handed over before its first one."""
    monitor_state, reported, after = monitor.initial(), frozenset[str](), []
    handed = {observation.message for observation in happened if observation.kind == "hand"}
    for observation in happened:
        message = observation.message
        before = [] if message in handed else [Observation("hand", message.sender, message)]
        handed.add(message)
        for each in (*before, observation):
            code = monitor.encode(each)
            if code is not None:
                monitor_state, names = monitor.observe(monitor_state, code)
                reported |= set(names)
        after.append(reported)
    return after


def crown_can_be_avoided(n: int, happened: Sequence[Observation]) -> bool:
    """By definition: can each message be given one moment at which all its events take place, those to come as well?

    Moments do not decrease along a line, and what is to come there comes after all the rest.
    """
    lines = [[message for _, message in line] for line in lines_of(n, happened)]
    messages = sorted({message for line in lines for message in line})
    to_come = [
        (process, message)
        for message in messages
        for process, kind in ((message.sender, "send"), *((q, "receive") for q in message.receivers))
        if (kind, message) not in lines_of(n, happened)[process]
    ]
    for order in permutations(messages):
        moment = {message: k for k, message in enumerate(order)}
        moments = [[moment[message] for message in line] for line in lines]
        if all(line == sorted(line) for line in moments) and all(
            not moments[process] or moments[process][-1] <= moment[message] for process, message in to_come
        ):
            return True
    return False
