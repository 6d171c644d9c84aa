"""Outputs of a broadcast course project as events: `b 3` is the third broadcast, `d 2 3` delivers that of process 2.

Each file is the output of one process, and ends with its number: da_proc_1.out, 1.output. A broadcast goes to every
process that has a file. Arguments such as 1:4,5 name the processes that process 1 depends on: then the causal order of
the events written is the promise of a *localized* causal broadcast. For this each process is two: p1 sends, and
delivers only the messages it depends on and its own; p1-all delivers all, and its order is the one that is judged.
"""

import json
import re
import sys
from pathlib import Path

outputs: dict[str, Path] = {}
depends: dict[str, set[str]] = {}
for argument in sys.argv[1:]:
    if found := re.fullmatch(r"(\d+):([\d,]*)", argument):
        depends[found[1]] = {found[1], *found[2].split(",")}
    elif found := re.search(r"(\d+)$", Path(argument).stem):
        outputs[found[1].lstrip("0")] = Path(argument)


def receivers(sender: str) -> list[str]:
    """Where a broadcast of this process is delivered."""
    return [f"p{p}-all" for p in outputs if depends] + [
        f"p{p}" for p in outputs if not depends or sender in depends.get(p, p)
    ]


for process, file in outputs.items():
    for line in file.read_text(encoding="utf-8").splitlines():
        match line.split():
            case ["b", number]:
                row = {"kind": "send", "message": f"p{process}.{number}", "peer": receivers(process)}
                print(json.dumps({"process": f"p{process}", **row}))
            case ["d", sender, number]:
                for name in (f"p{process}-all", f"p{process}"):
                    if name in receivers(sender):
                        row = {"kind": "deliver", "message": f"p{sender}.{number}", "peer": f"p{sender}"}
                        print(json.dumps({"process": name, **row}))
