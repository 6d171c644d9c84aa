"""Logs whose messages have no names, and every computation that each may be of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import permutations, product

import log_files
import pytest
from log_files import in_both_ways  # noqa: F401

from crownless.oracle.log_orders.classification import Classification, classify
from crownless.oracle.log_orders.matching import NO_OTHER, OTHER_MAY_KEEP, matched
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.lines import rows_of_lines
from crownless.oracle.logs.reader import converted_runs
from crownless.oracle.logs.rows import by_run
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import ORDERS, UnreceivedPolicy, decide

#: One event: its process, its kind, its payload (empty: none) and its peers.
Anonymous = tuple[str, str, str, tuple[str, ...]]
#: A log without names: the events of each process in order, one process after the other.
Log = tuple[Anonymous, ...]


def lines_of(log: Log, run: str = "") -> list[str]:
    place: dict[str, int] = {}
    lines = []
    for process, kind, payload, peers in log:
        index = place.setdefault(process, 0)
        place[process] += 1
        event = {"run": run, "process": process, "index": index, "kind": kind, "message": payload, "peer": peers}
        if kind == "deliver":
            event["peer"] = peers[0]
        lines.append(json.dumps({key: value for key, value in event.items() if value != ""}))
    return lines


# -- all matchings, one by one -----------------------------------------------------------------------------------------


def all_matchings(log: Log) -> Iterator[Computation]:
    """Every computation that this log may be of: each deliver of a send to it, with its payload, and of no other's."""
    names = sorted({name for process, _, _, peers in log for name in (process, *peers)})
    sends = [k for k, event in enumerate(log) if event[1] == "send"]
    groups: dict[tuple[str, str, str], list[int]] = {}
    for k, (process, kind, payload, peers) in enumerate(log):
        if kind == "deliver":
            groups.setdefault((peers[0], process, payload), []).append(k)
    choices = []
    for (sender, receiver, payload), delivers in groups.items():
        of = [k for k in sends if log[k][0] == sender and log[k][2] == payload and receiver in log[k][3]]
        choices.append([dict(zip(delivers, some, strict=True)) for some in permutations(of, len(delivers))])
    number = {k: m for m, k in enumerate(sends)}
    messages = [
        Message(f"m{m}", names.index(log[k][0]), tuple(sorted(names.index(q) for q in log[k][3])))
        for k, m in number.items()
    ]
    for chosen in product(*choices):
        of_deliver = {k: send for group in chosen for k, send in group.items()}
        lines = tuple(
            tuple(
                Event("send", number[k]) if kind == "send" else Event("receive", number[of_deliver[k]])
                for k, (process, kind, _, _) in enumerate(log)
                if process == name
            )
            for name in names
        )
        try:
            yield Computation(tuple(names), tuple(messages), lines)
        except BadInput:  # it is cyclic
            continue


def has_missing_sends(log: Log) -> bool:
    sent = [(process, q, payload) for process, kind, payload, peers in log if kind == "send" for q in peers]
    delivered = [(peers[0], process, payload) for process, kind, payload, peers in log if kind == "deliver"]
    return any(delivered.count(one) > sent.count(one) for one in delivered)


# -- comparison --------------------------------------------------------------------------------------------------------


def judged(lines: Sequence[str], reading: UnreceivedPolicy = "lost") -> list[Classification]:
    log = matched(by_run(rows_of_lines(lines, "log", LogOptions(unnamed=True)), "log"), "log")
    return [classify(one, tuple(ORDERS), reading) for one in converted_runs(log, "log")]


#: The verdicts on a log with holes.
NOTHING_BUT_ASYNCHRONOUS = {order: "kept" if order == "asynchronous" else "unknown" for order in ORDERS}
#: The same without a message to judge.
NOTHING_AT_ALL = NOTHING_BUT_ASYNCHRONOUS | {"asynchronous": "nothing"}


def agree(logs: Sequence[Log], reading: UnreceivedPolicy) -> set[str]:
    """An order is kept if some matching keeps it, and the note says whether each does; which cases there were."""
    seen: set[str] = set()
    for log in logs:
        kept = [{order: decide(c, order, reading).kept for order in ORDERS} for c in all_matchings(log)]
        if has_missing_sends(log):
            (found,) = judged(lines_of(log), reading)
            assert found.outcomes == (NOTHING_BUT_ASYNCHRONOUS if found.subject.messages else NOTHING_AT_ALL), log
        elif not kept:
            seen.add("cyclic")
            with pytest.raises(BadInput, match="the computation is cyclic"):
                judged(lines_of(log), reading)
        else:
            (found,) = judged(lines_of(log), reading)
            expected = {order: "kept" if any(one[order] for one in kept) else "violated" for order in ORDERS}
            if found["total"].outcome == "unknown":
                assert len(kept) > 1
                assert found["total"].unknown == OTHER_MAY_KEEP
                expected["total"] = "unknown"
                seen.add("total perhaps")
            if found.subject.unicasts:
                assert all(one["total"] for one in kept)
                expected["total"] = "nothing"
            assert found.outcomes == expected, (log, reading)
            if expected["fifo"] == "kept":
                forced = all(one["fifo"] for one in kept)
                assert (NO_OTHER in found.subject.notes) == forced, log
                seen.add("forced" if forced else "possible")
            else:
                seen.add("impossible")
    return seen


# -- the rows ----------------------------------------------------------------------------------------------------------


def event(process: str, index: int, kind: str, peer: object = None, message: object = None) -> str:
    return json.dumps(log_files.event(process, index, kind, message, peer))
