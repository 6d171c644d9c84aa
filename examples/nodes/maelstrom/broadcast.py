"""Maelstrom's broadcast workload: a message goes to all others at once, and `read` lists all that came.

crownless conform --sends broadcast-to-all -- python3 broadcast.py
"""

import json
import sys

me, nodes, messages = "", [], []


def say(dest, body):
    print(json.dumps({"src": me, "dest": dest, "body": body}), flush=True)


for line in sys.stdin:
    envelope = json.loads(line)
    source, body = envelope["src"], envelope["body"]
    kind, reply = body["type"], {"in_reply_to": body.get("msg_id")}
    if kind == "init":
        me, nodes = body["node_id"], body["node_ids"]
    elif kind == "broadcast":
        messages.append(body["message"])
        for node in nodes:
            if node != me:
                say(node, {"type": "gossip", "message": body["message"]})
    elif kind == "gossip":
        messages.append(body["message"])
        continue
    elif kind == "read":
        reply["messages"] = messages
    say(source, {"type": f"{kind}_ok", **reply})
