"""One more row in the table of orders, and the command line with it, in a process of its own.

1-weaker FIFO: no message is overtaken by two later ones of its link. It has no monitor, and no relation.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

from crownless.spec import orders
from crownless.spec.by_graph import shortest_chain
from crownless.spec.computation import Computation
from crownless.spec.witnesses import Overtaking, Witness

NAME = "1-weaker-fifo"
#: Logs of more lines are large, to the process that has the row.
SMALL_UP_TO = 400


def definition(c: Computation, *, pending: bool) -> bool:
    """By all pairs of messages."""
    return all(
        sum(c.overtakes(k, m, q) for k in range(len(c.messages)) if k != m and is_sent_later(c, m, k, q)) < 2
        for m, message in enumerate(c.messages)
        for q in message.receivers
    )


def is_sent_later(c: Computation, m: int, k: int, q: int) -> bool:
    """True if the second message goes to that receiver too, from the same sender, and is sent later."""
    first, second = c.messages[m], c.messages[k]
    return q in second.receivers and first.sender == second.sender and c.send_event[m] < c.send_event[k]


def procedure(c: Computation, *, pending: bool) -> Witness | None:
    """Link by link: how often each message is overtaken."""
    links: dict[tuple[int, int], list[int]] = {}
    for m in sorted(range(len(c.messages)), key=c.send_event.__getitem__):
        for q in c.messages[m].receivers:
            links.setdefault((c.messages[m].sender, q), []).append(m)
    for (_, q), messages in links.items():
        times = dict.fromkeys(messages, 0)
        for first, second in combinations(messages, 2):
            times[first] += c.overtakes(second, first, q)
            if times[first] == 2:
                return Overtaking(first, second, q, shortest_chain(c, c.send_event[first], c.send_event[second]))
    return None


ROW = orders.Order(
    NAME,
    "no message is overtaken by two later ones of its link",
    "an example",
    definition,
    procedure,
    implied_by=("fifo",),
)


def add() -> None:
    """Adds the row, before anything else reads the table."""
    assert "crownless.impl.protocol" not in sys.modules, "the table is read already"
    orders.ORDERS = MappingProxyType({**orders.ORDERS, NAME: ROW})


def answer(arguments: list[str]) -> tuple[int, str]:
    """The exit code of a command, and what it prints."""
    from crownless.command_line import main

    printed, code = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), -1
    with redirect_stdout(printed):
        try:
            main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
    printed.seek(0)
    return code, printed.read()


def on_spark(file: str) -> dict[str, tuple[str, str | None]]:
    """What a task on Spark says of a run of JSON Lines: by order the verdict, and why it is unknown."""
    from crownless.oracle.logs.formats import LogOptions
    from crownless.oracle.logs.json_lines import read_json_lines
    from crownless.oracle.logs.named_rows import by_run
    from crownless.pipeline.logs.records import Query, records_of_runs

    rows = by_run(read_json_lines(Path(file).read_bytes(), file, LogOptions()))
    records = [row for batch in records_of_runs(rows, Query.of((), "lost")) for row in batch.to_pylist()]
    return {row["order"]: (row["verdict"], row["because"]) for row in records if row["record_type"] == "verdict"}


if __name__ == "__main__":
    add()
    from crownless.oracle.log_orders import classify_file

    classify_file.SMALL_UP_TO = SMALL_UP_TO
    asked = json.loads(sys.argv[1])
    print(json.dumps([on_spark(one[1]) if one[0] == "spark" else answer(one) for one in asked]))
