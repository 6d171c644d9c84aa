"""Any class with `on_send` and `on_packet` as a program that speaks lines: python adapter.py causal.py:Matrix

crownless conform -- python examples/nodes/python/adapter.py causal.py:Matrix
"""

import json
import sys
from importlib import import_module
from pathlib import Path

where, _, name = sys.argv[1].partition(":")
sys.path.insert(0, str(Path(__file__).parent))
kind = getattr(import_module(where.removesuffix(".py")), name)
replies = []


def transmit(to, packet):
    print("packet", to, json.dumps(packet))


def deliver(message):
    print("deliver", message)
    if replies:
        node.on_send(*replies.pop(0))


for line in sys.stdin:
    word, _, rest = line.rstrip("\n").partition(" ")
    first, _, last = rest.partition(" ")
    if word == "init":
        node, replies = kind(int(first), int(last), transmit, deliver), []
        print("ok replies", flush=True)  # it knows the word `reply`
        continue
    elif word == "send":
        node.on_send(int(first), last)
    elif word == "reply":
        replies.append((int(first), last))
        continue  # it is no input: what follows is
    elif word == "packet":
        node.on_packet(int(first), json.loads(last))
    print("ok", flush=True)
