"""Behaviors that TLC printed of the specification EWD998ChanID, in ShiViz's ewd998.log, as events.

A step changes the inboxes: what appears in one was sent to it, and what disappears was delivered. Messages carry the
vector clock of their send, so no two are alike, but for the token that is there at first, which nobody sent.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

EXECUTION = re.compile(r"^=== (.*) ===$")
STATE = re.compile(r"^State (\d+): ")
HOST = re.compile(r"^/\\ Host = \"?(\S+?)\"?$")
INBOX = re.compile(r"^/\\ inbox = (.*)$")
OF_NODE = re.compile(r"(n\d+) :> <<(.*?)>>")
MESSAGE = re.compile(r"\[type \|-> \"(\w+)\".*?\]")

run = host = state = ""
before: dict[str, Counter[str]] = {}
names: dict[tuple[str, str], tuple[str, str]] = {}  # the name and the sender, by receiver and content
for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
    if found := EXECUTION.match(line):
        run, before, names = found[1], {}, {}
    elif found := STATE.match(line):
        state = found[1]
    elif found := HOST.match(line):
        host = found[1]
    elif found := INBOX.match(line):
        after = {
            node: Counter(message[0] for message in MESSAGE.finditer(content))
            for node, content in OF_NODE.findall(found[1])
        }
        rows = []
        for node in after if before else ():
            for content in before[node] - after[node]:
                if known := names.get((node, content)):
                    rows.append({"kind": "deliver", "process": node, "message": known[0], "peer": known[1]})
        for node in after if before else ():
            for content in after[node] - before[node]:
                kind = MESSAGE.match(content)[1]
                names[node, content] = name, _ = f"{kind}-{host}.{state}", host
                rows.append({"kind": "send", "process": host, "message": name, "peer": node})
        for row in rows:
            print(json.dumps({"run": run, **row}))
        before = after
