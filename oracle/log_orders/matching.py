"""Logs that name no messages: their messages get names by matching each deliver with a send, in the order of sending.

A *class* is all sends from one process to another, and the delivers there, with one payload (or without payloads). A
*matching* gives each deliver of a class a send of its own there; it is possible if what results is a computation, that
is, acyclic. The matching *in order* gives the first deliver of each class the first send, the second one the second,
and so on. It decides everything:

- Its happened-before is contained in that of each other matching. For among the sends that another one gives to the
  first k delivers of a class there is the k-th or a later one, so that the k-th send happened before the k-th deliver
  there, too. So if any matching is acyclic, this one is.
- Whatever keeps FIFO order is the matching in order: on each channel the delivers are then of the first sends, in the
  order sent. Every order but asynchronous demands FIFO order. So some matching keeps an order iff this one keeps it.
- Another matching is acyclic iff, somewhere in a class, the k-th deliver did not happen before the (k+1)-th send. For
  every other matching can be changed, step by step and with ever less happened-before, into one in which the k-th
  deliver is of the (k+1)-th send and all else is in order: the (k+1)-th deliver, if there is one, is of the k-th send,
  which else is not received. (These steps are the Bruhat order of permutations.) That one adds nothing to the
  happened-before in order but the step from the (k+1)-th send to the k-th deliver.

A message to several has a copy for each receiver, which belongs to that channel.

So an order that the matching in order breaks is broken by every matching, and one that it keeps is kept by some. A note
says whether there is another one, which breaks FIFO order. In a run with holes nothing is certain, as it is not known
which send is the first, and all its events are internal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from crownless.oracle.event_logs import lines_of_processes, rows_and_gaps
from crownless.oracle.logs.converted import ConvertedLog
from crownless.oracle.logs.rows import Row, at_one_place, refuse
from crownless.spec.errors import BadInput

IN_ORDER = (
    "messages are called by payload and line of their send, and matched in the order of sending: what breaks an order "
    "so breaks it in every matching"
)
NO_OTHER = "no other matching is a computation"
#: Copies, some of which have no send, are named so.
UNSENT = "?"


class _Copy(NamedTuple):
    """A message for one receiver: its send, and its deliver there, if it has one."""

    send: Row
    receiver: str
    deliver: Row | None


class _Class(NamedTuple):
    sends: list[Row]
    delivers: list[Row]


_Classes = Mapping[tuple[str, str, str], _Class]


def matched(runs: Mapping[str, list[Row]], name: str) -> ConvertedLog:
    """The runs of the log with names for messages; raises `BadInput` for rows that contradict each other."""
    log = ConvertedLog()
    for run, rows in runs.items():
        try:
            refuse(at_one_place(rows))
            lines = lines_of_processes(rows)
            classes = _classes(lines)
        except BadInput as problem:
            raise problem.at(file=name) from None
        unsent = {id(row) for one in classes.values() for row in one.delivers[len(one.sends) :]}
        if unsent or any(gap is not None for _, gap in rows_and_gaps(lines)):
            log.events += [
                replace(row, message=f"{row.message}{UNSENT}{row.line}") if id(row) in unsent else row.as_internal()
                for row in rows
            ]
            continue
        copies = [
            _Copy(send, receiver, one.delivers[k] if k < len(one.delivers) else None)
            for (_, receiver, _), one in classes.items()
            for k, send in enumerate(one.sends)
        ]
        called = {id(copy.deliver): _name_of(copy.send) for copy in copies}
        called |= {id(copy.send): _name_of(copy.send) for copy in copies}
        log.events += [replace(row, message=called[id(row)]) if row.kind != "internal" else row for row in rows]
        log.note(run, IN_ORDER)
        other = _other_matching(lines, copies, classes)
        log.note(run, NO_OTHER if other is None else f"another matching, which breaks fifo: {other}")
    return log


def _name_of(send: Row) -> str:
    return f"{send.message}@{send.line}"


def _classes(lines: Mapping[str, list[Row]]) -> dict[tuple[str, str, str], _Class]:
    """The classes by sender, receiver and payload, each in the order of its lines."""
    channels: dict[tuple[str, str], _Class] = {}
    for process, line in lines.items():
        for row in line:
            for peer in row.peers:
                if row.kind == "send":
                    channels.setdefault((process, peer), _Class([], [])).sends.append(row)
                else:
                    channels.setdefault((peer, process), _Class([], [])).delivers.append(row)
    classes: dict[tuple[str, str, str], _Class] = {}
    for (sender, receiver), channel in channels.items():
        by_payload = _has_payloads(sender, receiver, channel)
        for kind, rows in zip(("sends", "delivers"), channel, strict=True):
            for row in rows:
                key = (sender, receiver, row.message if by_payload else "")
                getattr(classes.setdefault(key, _Class([], [])), kind).append(row)
    return classes


def _has_payloads(sender: str, receiver: str, channel: _Class) -> bool:
    """True if the sends and the delivers of a channel have payloads; refused if only some of them have."""
    if not all(any(row.message for row in rows) for rows in channel):
        return False
    for row in (*channel.sends, *channel.delivers):
        if not row.message:
            does = f"sends to {receiver}" if row.kind == "send" else f"delivers from {sender}"
            raise BadInput(
                f"{row.process} {does} without a payload, which others from {sender} to {receiver} have",
                hint="give 'message' in all lines about two processes, or in none",
                line=row.line,
            )
    return True


class _Follows(NamedTuple):
    """A send that follows another one of its class, whose deliver is `deliver`; the next deliver is `exchanged`."""

    receiver: str
    deliver: Row
    in_order: Row
    exchanged: Row | None


def _other_matching(lines: Mapping[str, list[Row]], copies: list[_Copy], classes: _Classes) -> str | None:
    """Another matching that is a computation, by the lines that differ; None if there is none.

    A walk along all lines, each deliver after its send, with the vector times of the events on the way: an entry is how
    many events of that process happened before.
    """
    follows: dict[int, list[_Follows]] = {}
    for (_, receiver, _), one in classes.items():
        for k, deliver in enumerate(one.delivers[: len(one.sends) - 1]):
            exchanged = one.delivers[k + 1] if k + 1 < len(one.delivers) else None
            follows.setdefault(id(one.sends[k + 1]), []).append(_Follows(receiver, deliver, one.sends[k], exchanged))
    if not follows:  # without two sends of a class no deliver could be of another send
        return None
    copy_of = {id(copy.deliver): copy for copy in copies if copy.deliver is not None}
    to_deliver: dict[int, int] = {}
    for copy in copy_of.values():
        to_deliver[id(copy.send)] = to_deliver.get(id(copy.send), 0) + 1
    number = {process: p for p, process in enumerate(lines)}
    place = {id(row): k for line in lines.values() for k, row in enumerate(line)}
    times = {process: np.zeros(len(lines), np.int32) for process in lines}
    sent: dict[int, tuple[Any, int]] = {}
    for process, row in _in_some_order(lines, copy_of):
        time = times[process]
        time[number[process]] = place[id(row)] + 1
        if id(row) in copy_of:
            send = copy_of[id(row)].send
            then, rest = sent.pop(id(send))
            np.maximum(time, then, out=time)
            if rest > 1:
                sent[id(send)] = (then, rest - 1)
        for after in follows.get(id(row), ()):
            if time[number[after.receiver]] <= place[id(after.deliver)]:
                rest_of_it = f"line {after.in_order.line} is not received"
                if after.exchanged is not None:
                    rest_of_it = f"line {after.exchanged.line} delivers line {after.in_order.line}"
                return f"line {after.deliver.line} delivers line {row.line}, and {rest_of_it}"
        if id(row) in to_deliver:
            sent[id(row)] = (time.copy(), to_deliver[id(row)])
    return None


def _in_some_order(lines: Mapping[str, list[Row]], copy_of: Mapping[int, _Copy]) -> Iterator[tuple[str, Row]]:
    """All events with their processes, each deliver after its send; of a cyclic run those before the cycle."""
    at, done = dict.fromkeys(lines, 0), set[int]()
    waiting: dict[int, list[str]] = {}  # processes, by the send that they wait for
    ready = list(lines)
    while ready:
        process = ready.pop()
        while at[process] < len(lines[process]):
            row = lines[process][at[process]]
            copy = copy_of.get(id(row))
            if copy is not None and id(copy.send) not in done:
                waiting.setdefault(id(copy.send), []).append(process)
                break
            at[process] += 1
            yield process, row
            if row.kind == "send":
                done.add(id(row))
                ready += waiting.pop(id(row), ())
