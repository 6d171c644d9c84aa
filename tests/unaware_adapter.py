"""An adapter that was written without `reply`: to words that it does not know it says `ok`, or nothing.

python unaware_adapter.py ok Matrix
python unaware_adapter.py silent OverwritingMerge
python unaware_adapter.py late Matrix: it also says `ok` a second time after each third send, a moment later
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

unknown, name = sys.argv[1:]
sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "nodes" / "python"))
kind = getattr(import_module("causal"), name)
node: Any = None
sends = 0


def transmit(to: int, packet: Any) -> None:
    print("packet", to, json.dumps(packet))


def deliver(message: str) -> None:
    print("deliver", message)


for line in sys.stdin:
    word, _, rest = line.rstrip("\n").partition(" ")
    first, _, last = rest.partition(" ")
    if word == "init":
        node, sends = kind(int(first), int(last), transmit, deliver), 0
    elif word == "send":
        node.on_send(int(first), last)
        sends += 1
    elif word == "packet":
        node.on_packet(int(first), json.loads(last))
    elif unknown == "silent":
        continue
    print("ok", flush=True)
    if unknown == "late" and word == "send" and sends == 3:
        time.sleep(0.003)
        print("ok", flush=True)
