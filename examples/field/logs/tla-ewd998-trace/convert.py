"""Trace-validation logs of EWD998 (tlaplus/Examples) as events: a message is named by its sender's clock at the send.

A packet is logged with the receiver's clock after the delivery. The sender's entry in it rises to the number of the
send, unless the receiver already knew a later event of the sender: such a message has no name, and is rejected here.
A node that keeps the token takes it from its own inbox again, which is logged as a delivery and is an internal event.
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as log:
    events = [event for event in map(json.loads, log) if "node" in event]
events.sort(key=lambda event: (event["node"], event["pkt"]["vc"][str(event["node"])]))
clocks: dict[int, dict[str, int]] = {}
keeps_token: set[int] = set()
for event in events:
    node, packet = event["node"], event["pkt"]
    clock, known = packet["vc"], clocks.get(node, {})
    clocks[node] = clock
    row = {"process": f"n{node}", "index": clock[str(node)] - 1, "clock": {f"n{p}": k for p, k in clock.items()}}
    kind = {"<": "deliver", ">": "send", "d": "internal"}[event["event"]]
    what = packet["msg"]["type"] if kind != "internal" else ""
    if what == "tok" and kind == "send":
        keeps_token.discard(node)
    elif what == "tok":
        if node in keeps_token or packet["snd"] == node:  # the first token was sent by nobody
            kind = "internal"
        keeps_token.add(node)
    row["kind"] = kind
    if kind != "internal":
        sender = str(packet["snd"])
        if kind == "deliver" and packet["snd"] != node and clock[sender] == known.get(sender, 0):
            sys.exit(f"a message from {sender} to {node} comes late: its clock does not name it")
        # Only the last message, which ends the run, is sent to oneself.
        row["message"] = f"{what}-{sender}." + ("self" if packet["snd"] == packet["rcv"] else str(clock[sender]))
        row["peer"] = f"n{packet['rcv'] if kind == 'send' else packet['snd']}"
    print(json.dumps(row))
