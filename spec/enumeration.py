"""Every computation of n processes and m messages, each exactly once.

Two computations are the same if they differ only in the names of their messages. So each is represented by its least
linearization (the lexicographic normal form of a Mazurkiewicz trace: processes compare by number): an event may be
appended unless it could be moved to the left past a run of events independent of it, the first of which is at a greater
process. Messages are numbered in the order of that linearization. Generated computations need not be compared.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Literal

from crownless.runtime.errors import unknown_name

from .computation import Computation, Event, Message, process_names

#: The possible receivers of a message: one process, any set of processes, all others, or all with the sender.
Sends = Literal["unicast", "multicast", "broadcast", "broadcast-to-all"]
SENDS: tuple[Sends, ...] = ("unicast", "multicast", "broadcast", "broadcast-to-all")


def known_sends(name: str) -> Sends:
    """The kind of sends of that name; raises `BadInput` if there is none."""
    for known in SENDS:
        if name == known:
            return known
    raise unknown_name("kind of sends", name, SENDS)


def with_self_sends(sends: Sends, self_sends: bool) -> tuple[Sends, bool]:
    """The kind of sends, and whether a sender is among its receivers: `broadcast-to-all` is `broadcast` with that."""
    return ("broadcast", True) if sends == "broadcast-to-all" else (sends, self_sends)


def computations(
    n: int, m: int, *, complete: bool = True, self_sends: bool = False, sends: Sends = "unicast"
) -> Iterator[Computation]:
    """All computations of n processes with exactly m messages.

    `complete`: every message is received by every receiver; otherwise any copies may be left unreceived.
    `self_sends`: a process may send to itself. `sends`: the possible receivers of messages.
    """
    names = process_names(n)
    receivers = [receiver_sets(n, p, self_sends=self_sends, sends=sends) for p in range(n)]
    word: list[tuple[int, Event]] = []
    messages: list[Message] = []
    open_copies: list[tuple[int, int]] = []

    def appendable(p: int, message: int | None) -> bool:
        """True if the word with an event at p appended is still the least linearization of its computation."""
        for q, event in reversed(word):
            if q == p or (message is not None and event == ("send", message)):
                return True
            if q > p:
                return False
        return True

    def extend() -> Iterator[Computation]:
        if len(messages) == m and not (complete and open_copies):
            lines: list[list[Event]] = [[] for _ in range(n)]
            for p, event in word:
                lines[p].append(event)
            yield trusted(names, tuple(messages), tuple(map(tuple, lines)))
        for position, (message, p) in enumerate(list(open_copies)):
            if appendable(p, message):
                word.append((p, Event("receive", message)))
                del open_copies[position]
                yield from extend()
                open_copies.insert(position, (message, p))
                word.pop()
        if len(messages) < m:
            number = len(messages)
            for p in range(n):
                if not appendable(p, None):
                    continue
                word.append((p, Event("send", number)))
                for to in receivers[p]:
                    messages.append(Message(f"m{number + 1}", p, to))
                    open_copies.extend((number, q) for q in to)
                    yield from extend()
                    del open_copies[len(open_copies) - len(to) :]
                    messages.pop()
                word.pop()

    return extend()


def receiver_sets(n: int, p: int, *, self_sends: bool = False, sends: Sends = "unicast") -> list[tuple[int, ...]]:
    """The possible receivers of a message of process p: one process, any set of them, or all (others)."""
    sends, self_sends = with_self_sends(sends, self_sends)
    others = [q for q in range(n) if q != p or self_sends]
    sizes = {
        "unicast": range(1, 2),
        "multicast": range(1, len(others) + 1),
        "broadcast": range(len(others), len(others) + 1),
    }
    return [to for size in sizes[sends] if size for to in combinations(others, size)]


def trusted(
    processes: tuple[str, ...], messages: tuple[Message, ...], lines: tuple[tuple[Event, ...], ...]
) -> Computation:
    """A computation that is valid by construction: built without validation."""
    c = object.__new__(Computation)
    object.__setattr__(c, "processes", processes)
    object.__setattr__(c, "messages", messages)
    object.__setattr__(c, "lines", lines)
    return c
