"""Nodes that deliver each packet as it comes: a class, and programs in which something is different."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


class Relay:
    """Delivers each packet as it comes."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.me, self.n, self.transmit, self.deliver = process, processes, transmit, deliver

    def on_send(self, to: Any, message: str) -> Any:
        for receiver in to if isinstance(to, tuple) else (to,):
            self.transmit(receiver, message)

    def on_packet(self, source: int, packet: Any) -> Any:
        self.deliver(packet)


class Numbers(Relay):
    """Numbers its packets on each link, and delivers them in that order."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        super().__init__(process, processes, transmit, deliver)
        self.sent, self.expected, self.held = [0] * processes, [0] * processes, dict[Any, str]()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, (self.sent[to], message))
        self.sent[to] += 1

    def on_packet(self, source: int, packet: Any) -> None:
        number, message = packet
        self.held[source, number] = message
        while (source, self.expected[source]) in self.held:
            self.deliver(self.held.pop((source, self.expected[source])))
            self.expected[source] += 1


#: A node that speaks lines; what is different goes before its loop.
PROGRAM = """
import ctypes, json, os, random, signal, subprocess, sys, threading, time
me = n = 0
replies = []
out = sys.stdout.buffer
def write(data):
    out.write(data if isinstance(data, bytes) else data.encode()), out.flush()
def say(*words):
    write(" ".join(map(str, words)) + "\\n")
def on_init(): pass
def on_send(to, message): say("packet", to, message)
def on_packet(source, body): deliver(body)
def deliver(message):
    say("deliver", message)
    if replies: on_send(*replies.pop(0))
def on_restart(): on_init()
def ok(): say("ok")
plain_ok = ok
#HERE
for line in sys.stdin:
    word, _, rest = line.rstrip("\\n").partition(" ")
    first, _, last = rest.partition(" ")
    if word == "init":
        me, n, replies = int(first), int(last), []
        on_init()
        say("ok replies") if ok is plain_ok else ok()
        continue
    elif word == "send": on_send(first, last)
    elif word == "reply":
        replies.append((first, last))
        continue
    elif word == "packet": on_packet(int(first), last)
    elif word == "restart": on_restart()
    ok()
"""

#: One that speaks of itself in JSON.
JSON_PROGRAM = """
import json, sys
def say(**said): print(json.dumps(said), flush=True)
def on_send(said): say(type="packet", to=said["to"], body=said["message"])
def on_packet(said): say(type="deliver", message=said["body"])
def on_init(said): pass
#HERE
for line in sys.stdin:
    said = json.loads(line)
    globals()["on_" + said["type"]](said)
    say(type="ok")
"""

#: One written for Maelstrom: it lists what it has.
MAELSTROM_PROGRAM = """
import json, sys, time
me, others, got = "", [], []
def write(text): print(text, flush=True)
def say(dest, **body): write(json.dumps({"src": me, "dest": dest, "body": body}))
def reply(to, body, **more): say(to, type=body["type"] + "_ok", in_reply_to=body["msg_id"], **more)
def on_init(body): reply("c0", body)
def on_topology(body): reply("c0", body)
def on_send(body):
    for to in [body["to"]] if isinstance(body["to"], str) else body["to"]:
        say(to, type="packet", message=body["message"])
    reply("c1", body)
def on_broadcast(body):
    got.append(body["message"])
    for to in others: say(to, type="packet", message=body["message"])
    reply("c1", body)
def on_packet(body):
    got.append(body["message"])
    if isinstance(body["message"], str): say("c1", type="deliver", message=body["message"])
def on_read(body): reply("c2", body, messages=got)
def on_echo(body): reply("c2", body, echo=body["echo"])
#HERE
for line in sys.stdin:
    body = json.loads(line)["body"]
    if body["type"] == "init": me, others = body["node_id"], [q for q in body["node_ids"] if q != body["node_id"]]
    globals()["on_" + body["type"]](body)
"""


def program(folder: Path, different: str = "", text: str = PROGRAM) -> list[str]:
    """The command of a relay in which something is different."""
    file = folder / "node.py"
    file.write_text(text.replace("#HERE", different))
    return [sys.executable, "-I", "-S", str(file)]
