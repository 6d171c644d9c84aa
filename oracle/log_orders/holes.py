"""The certain part of a large run with holes: by columns what `oracle.logs.event_logs.certain_rows` has by rows."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from crownless.oracle.logs.event_logs import in_natural_order, natural
from crownless.oracle.logs.layout import DELIVER, INTERNAL, NONE, SEND, Numbers, Rows, no_events, on_lines
from crownless.oracle.logs.lost_events import Hole, gap, missing_send, quarantined_rows
from crownless.oracle.logs.named_rows import NamedRows


class CertainColumns(NamedTuple):
    """What is certain of a run with holes: as many rows as it has, in the same order, on lines without gaps."""

    rows: Rows
    #: How many messages are sent, also those of which all receptions are uncertain.
    messages: int
    #: The processes that the run names.
    processes: tuple[str, ...]
    holes: tuple[Hole, ...]
    perhaps_received: tuple[tuple[str, str], ...]
    #: All indices are higher than the number of events.
    like_time_stamps: bool


def certain_columns(named: NamedRows, quarantined: Collection[str | None] = ()) -> CertainColumns | None:
    """What is certain of these rows of one run; None if one is no event, or if some contradict each other.

    `quarantined`: the processes that have further, unusable rows; None if a row may be of any. Only a deliver at a
    process that is no receiver is left for `logs.layout` to find.
    """
    rows = named.numbers()
    _, process, place, kind, message, peer, first_receiver, receivers = rows
    sends, delivers = np.flatnonzero(kind == SEND), np.flatnonzero(kind == DELIVER)
    of_sender, count = delivers[peer[delivers] != NONE], np.diff(first_receiver)
    if no_events(rows).any():
        return None
    names, messages = len(named.processes), int(message.max()) + 1
    before, places = on_lines(process, place)
    delivered = _at(message[delivers], process[delivers], names)
    named_senders = receivers[first_receiver[peer[of_sender]]]
    sender = np.full(messages, NONE, np.int32)
    sender[message[of_sender]] = named_senders
    sender[message[sends]] = process[sends]
    if (
        (place == before).any()
        or _some_twice(message[sends])
        or _some_twice(delivered)
        or (sender[message[of_sender]] != named_senders).any()
    ):
        return None

    is_sent = np.zeros(messages, bool)
    is_sent[message[sends]] = True
    unsent = delivers[~is_sent[message[delivers]]]
    of_anyone = unsent[sender[message[unsent]] == NONE]
    gaps = place - 1 > before
    torn = np.bincount(process[of_anyone], minlength=names) < len(np.unique(message[of_anyone]))
    torn[process[gaps]] = True
    torn |= np.array([None in quarantined or name in quarantined for name in named.processes])
    torn[sender[message[np.setdiff1d(unsent, of_anyone)]]] = True

    of_copy = np.repeat(sends, count[peer[sends]])
    nth = np.arange(len(of_copy)) - np.searchsorted(of_copy, of_copy)
    receiver = receivers[first_receiver[peer[of_copy]] + nth]
    is_certain = ~torn[receiver] | np.isin(_at(message[of_copy], receiver, names), delivered)
    left = np.bincount(of_copy[is_certain], minlength=len(kind))
    kinds = kind.copy()
    kinds[unsent] = INTERNAL
    kinds[sends[left[sends] == 0]] = INTERNAL
    peers = np.where(kind == SEND, np.arange(len(kind)), NONE).astype(np.int32)
    ends = np.append(0, np.cumsum(left)).astype(np.int32)

    mentioned = np.unique(np.concatenate([process, receiver, named_senders])).tolist()
    perhaps = zip(_names(named, of_copy[~is_certain]), receiver[~is_certain].tolist(), strict=True)
    return CertainColumns(
        Rows(rows.first, process, places, kinds, message, peers, ends, receiver[is_certain]),
        len(sends),
        tuple(named.processes[p] for p in mentioned),
        (*_holes(named, process, before, np.flatnonzero(gaps), unsent), *map(quarantined_rows, quarantined)),
        in_natural_order((name, named.processes[q]) for name, q in perhaps),
        int(place.min()) > len(place),
    )


def _at(message: Numbers, process: Numbers, names: int) -> Numbers:
    """Messages at processes, each as one number."""
    at: Numbers = message.astype(np.int64) * names + process
    return at


def _some_twice(numbers: Numbers) -> bool:
    return len(np.unique(numbers)) < len(numbers)


def _names(named: NamedRows, rows: Numbers) -> list[str]:
    """The names of the messages of these rows."""
    return [str(named.named["message"].name(row)) for row in rows.tolist()]


def _holes(named: NamedRows, process: Numbers, before: Numbers, gaps: Numbers, unsent: Numbers) -> tuple[Hole, ...]:
    """The holes, line after line: before some rows a gap, and some that deliver what is not sent."""
    found: list[tuple[int, bool, Hole]] = []
    for row in gaps.tolist():
        first, last = int(before[row]) + 1, int(named.index[row]) - 1
        found.append((row, False, gap(named.processes[process[row]], first, last)))
    for row, message in zip(unsent.tolist(), _names(named, unsent), strict=True):
        found.append((row, True, missing_send(named.processes[process[row]], message)))
    found.sort(key=lambda one: (natural(named.processes[process[one[0]]]), named.index[one[0]], one[1]))
    return tuple(hole for _, _, hole in found)
