"""Two pairs of processes whose messages do not meet, as a log, and protocols that promise little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.protocols.unordered import Unordered

#: Of the log of two pairs: sender and receiver; and by place of a delivery the message, the first two swapped.
PAIRS, SWAPPED = (("A", "B"), ("C", "D")), list(enumerate((1, 0, *range(2, 9))))


#: Over a channel that loses, it promises neither an order nor that all is delivered.
PromisesLittle = type("PromisesLittle", (FifoSequence,), {"promises": ("delivers-once",), "needs_channel": "lossy"})


class PromisesTotal(Unordered):
    promises = "total"
    sends = "broadcast-to-all"


#: Two pairs of processes, each with a message that overtakes another: 2,916 states, and the runs to the end are long.
TWO_PAIRS = [
    *({"process": p, "index": k, "kind": "send", "message": f"{p}{k}", "peer": q} for p, q in PAIRS for k in range(9)),
    *({"process": q, "index": k, "kind": "deliver", "message": f"{p}{m}"} for p, q in PAIRS for k, m in SWAPPED),
]


def log_of(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "log.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return file
