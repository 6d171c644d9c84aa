"""The trace of etcd's raft library (tla/example.ndjson) as events without message names, for `classify --match`.

A raft message has no identity: its payload is all that the trace says of it, and several messages may share it.
"""

import json
import sys

with open(sys.argv[1]) as log:
    for line in log:
        event = json.loads(line)["event"]
        row = {"process": event["nid"], "kind": "internal"}
        if (message := event.get("msg")) and event["name"].startswith(("Send", "Receive")):
            sent = event["name"].startswith("Send")
            fields = ((key, value) for key, value in message.items() if key not in ("type", "from", "to"))
            payload = " ".join([message["type"], *(f"{key}={value}" for key, value in fields if value not in (0, "0"))])
            row |= {
                "kind": "send" if sent else "deliver",
                "message": payload,
                "peer": message["to" if sent else "from"],
            }
        print(json.dumps(row))
