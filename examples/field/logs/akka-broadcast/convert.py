"""Logs of a reliable broadcast among Akka actors, from ShiViz's examples, as events.

The texts repeat: an acknowledgement is sent twice to the same node. But the clock after a delivery shows the number of
the send, as the sender's entry rises to it, unless the receiver already knew a later event: such a message has no name.
"""

import json
import re
import sys
from pathlib import Path

EVENT = re.compile(r".* \[akka://Broadcast/user/(\w+)\] (\{.*?\}) (.*)$")
MESSAGE = re.compile(r"(Sending|Received) (.*) (?:to|from) (\w+)$")

events: dict[tuple[str, int], tuple[dict[str, int], str]] = {}
for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    if found := EVENT.match(line):
        clock = json.loads(found[2])
        events[found[1], clock[found[1]]] = clock, found[3]
for (node, number), (clock, text) in sorted(events.items()):
    row = {"process": node, "index": number - 1, "kind": "internal"}
    if message := MESSAGE.match(text):
        what, peer = message[2].partition("(")[0], message[3]
        if message[1] == "Sending":
            row |= {"kind": "send", "message": f"{what}-{node}.{number}", "peer": peer}
        else:
            known = events[node, number - 1][0] if number > 1 else {}
            if clock.get(peer, 0) == known.get(peer, 0):
                sys.exit(f"{node}, event {number}: the message comes late: its clock does not name it")
            row |= {"kind": "deliver", "message": f"{what}-{peer}.{clock[peer]}", "peer": peer}
    print(json.dumps(row))
