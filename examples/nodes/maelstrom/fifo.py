"""FIFO order for Maelstrom: messages to one process are numbered. With --wrong nobody looks at the numbers.

crownless conform --order fifo -- python3 fifo.py
crownless conform --order fifo -- python3 fifo.py --wrong
"""

import json
import sys

me = ""
sent, delivered, waiting = {}, {}, {}


def say(dest, body):
    print(json.dumps({"src": me, "dest": dest, "body": body}), flush=True)


def take(source, number, message):
    if "--wrong" in sys.argv:
        say("c1", {"type": "deliver", "message": message})
        return
    waiting[source, number] = message
    while (source, number := delivered.get(source, 0)) in waiting:
        delivered[source] = number + 1
        say("c1", {"type": "deliver", "message": waiting.pop((source, number))})


for line in sys.stdin:
    envelope = json.loads(line)
    source, body = envelope["src"], envelope["body"]
    kind, reply = body["type"], {"in_reply_to": body.get("msg_id")}
    if kind == "init":
        me = body["node_id"]
        say(source, {"type": "init_ok", **reply})
    elif kind == "send":
        to = body["to"]
        say(to, {"type": "numbered", "number": sent.get(to, 0), "message": body["message"]})
        sent[to] = sent.get(to, 0) + 1
        say(source, {"type": "send_ok", **reply})
    elif kind == "numbered":
        take(source, body["number"], body["message"])
    else:
        say(source, {"type": "error", "code": 10, "text": f"{kind} is not supported", **reply})
