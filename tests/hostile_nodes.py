"""Programs of nodes that do what no node may, each as what it changes in one that relays; and what is left of them."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from crownless.model_check.conformance.guardian import MARK

#: A node that delivers each packet as it comes; the parts of hostile ones go before its loop.
RELAY = """
import ctypes, os, random, signal, subprocess, sys, threading, time
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
def state(): return ""
def load(text): pass
def ok(): say(*filter(None, ("ok", state())))
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
    elif word == "load": load(rest)
    ok()
"""


def program(folder: Path, different: str = "") -> list[str]:
    """The command of a relay in which something is different."""
    file = folder / "node.py"
    file.write_text(RELAY.replace("#HERE", different))
    return [sys.executable, "-I", "-S", str(file)]


def left_running(mark: str | None = None) -> list[int]:
    """The processes with the mark of a harness, or of any, in their environment."""
    needle = (MARK if mark is None else f"{MARK}={mark}").encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if needle in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found
