"""Logs of three machines with Lamport clocks as events: a message is named by its sender and its time stamp.

The logs name neither sender nor receiver. A time stamp sent by one other machine only is that machine's message; one
that both others sent leaves open which of them was received: such a line is written without a message, and
`--skip-bad` treats it as a hole.
"""

import json
import re
import sys
from collections import defaultdict
from pathlib import Path

FILE = re.compile(r"(.*)_vm(\d+)_log\.txt")
EVENT = re.compile(r"(Sent|Received): (\d+) \|")

events: list[tuple[str, str, str, str]] = []
senders: dict[tuple[str, str], list[str]] = defaultdict(list)
for name in sorted(sys.argv[1:]):
    if not (file := FILE.fullmatch(Path(name).name)):
        sys.exit(f"{name}: not named RUN_vmN_log.txt")
    run, process = file[1], f"vm{file[2]}"
    for line in Path(name).read_text(encoding="utf-8").splitlines():
        if found := EVENT.match(line):
            events.append((run, process, found[1], found[2]))
            if found[1] == "Sent":
                senders[run, found[2]].append(process)
index: dict[tuple[str, str], int] = defaultdict(int)
for run, process, kind, stamp in events:
    row: dict[str, str | int] = {"run": run, "process": process, "index": index[run, process]}
    index[run, process] += 1
    if kind == "Sent":
        row |= {"kind": "send", "message": f"{process}@{stamp}"}
    else:
        row["kind"] = "deliver"
        others = [sender for sender in senders[run, stamp] if sender != process]
        if len(others) == 1:
            row |= {"message": f"{others[0]}@{stamp}"}
    print(json.dumps(row))
