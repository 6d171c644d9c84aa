"""A time-independent trace of SimGrid's MPI as events without message names, for `classify --match`.

A message is delivered when the receive returns: at `recv`, or at the `wait` for an `irecv`. Its payload is its tag.
"""

import json
import sys
from pathlib import Path

posted: set[tuple[str, str, str]] = set()
for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    match line.split():
        case [rank, "send" | "isend", receiver, tag, *_]:
            row = {"process": f"rank{rank}", "kind": "send", "message": f"tag{tag}", "peer": f"rank{receiver}"}
            print(json.dumps(row))
        case [rank, "irecv", sender, tag, *_]:
            posted.add((sender, rank, tag))
        case [rank, "recv", sender, tag, *_]:
            row = {"process": f"rank{rank}", "kind": "deliver", "message": f"tag{tag}", "peer": f"rank{sender}"}
            print(json.dumps(row))
        case [rank, "wait", sender, receiver, tag] if (sender, receiver, tag) in posted and rank == receiver:
            posted.discard((sender, receiver, tag))
            row = {"process": f"rank{rank}", "kind": "deliver", "message": f"tag{tag}", "peer": f"rank{sender}"}
            print(json.dumps(row))
        case [_, "waitall" | "waitany", *_]:
            sys.exit(f"{line}: the trace does not say which of the receives returns first")
