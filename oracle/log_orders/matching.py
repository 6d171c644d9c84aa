"""Logs without message names: messages are named by matching each deliver with a send, in sending order.

A *class* is all sends from one process to another, and the delivers there, with one payload (or without payloads). A
*matching* gives each deliver of a class a distinct send of that class; it is possible if the result is a computation,
that is, acyclic. The matching *in order* gives the first deliver of each class the first send, the second the second,
and so on. It decides everything:

- Its happened-before is contained in that of each other matching. For among the sends that another one gives to the
  first k delivers of a class there is the k-th or a later one, so that the k-th send happened before the k-th deliver
  there, too. So if any matching is acyclic, this one is.
- Whatever keeps FIFO order is the matching in order: on each channel the delivers are then of the first sends, in the
  order sent. So some matching keeps FIFO order, or an order that demands it, iff this one keeps it. Of an order that
  does not, as total order, this one shows that some matching keeps it, or else nothing, if there is another one.
- Another matching is acyclic iff, somewhere in a class, the k-th deliver did not happen before the (k+1)-th send. For
  every other matching can be transformed, step by step and with ever less happened-before, into one in which the k-th
  deliver is of the (k+1)-th send and all else is in order: the (k+1)-th deliver, if any, is of the k-th send, which
  otherwise is not received. (These steps are the Bruhat order of permutations.) That one adds nothing to the
  happened-before in order but the step from the (k+1)-th send to the k-th deliver.

A message to several has a copy for each receiver, which belongs to that channel.

So such an order that the matching in order violates is violated by every one, and any that it keeps is kept by some. A
note says whether there is another matching, which violates FIFO order. In a run with holes nothing is certain, since
the first send is unknown, and all its events are internal.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from crownless.oracle.logs.converted import ConvertedLog
from crownless.oracle.logs.event_logs import lines_of_processes, logged_run, rows_and_gaps
from crownless.oracle.logs.rows import Row, at_one_place, refuse
from crownless.oracle.logs.uncertain import Uncertain
from crownless.runtime.errors import BadInput
from crownless.spec.orders import ORDERS, weaker

IN_ORDER = (
    "messages are named by payload and line of their send, and matched in sending order; an order violated here "
    "is violated in every matching"
)
NO_OTHER = "no other matching is a computation"
OTHER_MAY_KEEP = "violated by the matching in sending order; another one may keep it"
#: The orders that a matching may keep, even if it violates FIFO order.
WITHOUT_FIFO = [name for name in ORDERS if "fifo" not in {name, *weaker(name, unicasts=False)}]
#: The name of copies, some of which have no send.
UNSENT = "?"


class _Class(NamedTuple):
    sends: list[Row]
    delivers: list[Row]


def matched(runs: Mapping[str, list[Row]], name: str) -> ConvertedLog:
    """The runs of the log with message names; raises `BadInput` for rows that contradict each other."""
    log = ConvertedLog()
    for run, rows in runs.items():
        try:
            refuse(at_one_place(rows))
            lines = lines_of_processes(rows)
            classes = list(_classes(lines).values())
        except BadInput as problem:
            raise problem.at(file=name) from None
        unsent = {row.line for one in classes for row in one.delivers[len(one.sends) :]}
        if unsent or any(gap is not None for _, gap in rows_and_gaps(lines)):
            log.events += [
                replace(row, message=f"{row.message}{UNSENT}{row.line}") if row.line in unsent else row.as_internal()
                for row in rows
            ]
            continue
        called = {row.line: _name_of(row) for row in rows if row.kind == "send"}
        called |= {
            deliver.line: _name_of(send)
            for one in classes
            for send, deliver in zip(one.sends, one.delivers, strict=False)  # the last sends may have no deliver
        }
        named = [replace(row, message=called[row.line]) if row.kind != "internal" else row for row in rows]
        log.events += named
        log.note(run, IN_ORDER)
        other = _other_matching(named, classes)
        log.note(run, NO_OTHER if other is None else f"another matching, which violates fifo: {other}")
        if other is not None:
            log.uncertain[run] = Uncertain(perhaps_kept=dict.fromkeys(WITHOUT_FIFO, OTHER_MAY_KEEP))
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
    """True if the sends and delivers of a channel have payloads; raises `BadInput` if only some have."""
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


def _other_matching(rows: list[Row], classes: list[_Class]) -> str | None:
    """Another matching that is a computation, by the lines that differ; None if there is none.

    The vector times along a linearization say it: an entry is how many events of that process happened before.
    """
    #: By line of a send: the classes where it follows another send, and the place of that send.
    follows: dict[int, list[tuple[_Class, int]]] = {}
    for one in classes:
        for k in range(min(len(one.delivers), len(one.sends) - 1)):
            follows.setdefault(one.sends[k + 1].line, []).append((one, k))
    if not follows:  # without two sends in a class no deliver could match another send
        return None
    try:
        c = logged_run("", rows).computation
    except BadInput:  # cyclic: rejected when it is classified
        return None
    in_order = [row for line in lines_of_processes(rows).values() for row in line]
    event = {row.line: e for e, row in enumerate(in_order)}
    times, stamps = np.zeros((len(c.processes), len(c.processes)), np.int32), dict[int | None, Any]()
    for e in c.linearization:
        p, (kind, message) = c.process_of[e], c.events[e]
        time = times[p]
        time[p] = e - c.first_event[p] + 1
        if kind == "receive":
            np.maximum(time, stamps[message], out=time)
        elif kind == "send":
            stamps[message] = time.copy()
        for one, k in follows.get(in_order[e].line, ()):
            deliver, first = one.delivers[k], one.sends[k]
            at = event[deliver.line]
            if time[c.process_of[at]] <= at - c.first_event[c.process_of[at]]:
                rest = f"line {first.line} is not received"
                if k + 1 < len(one.delivers):
                    rest = f"line {one.delivers[k + 1].line} delivers line {first.line}"
                return f"line {deliver.line} delivers line {in_order[e].line}, and {rest}"
    return None
