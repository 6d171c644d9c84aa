"""The speech of a node that owns its sockets: its command, its lines, and the form of its packets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from re import Pattern
from typing import Literal

from crownless.model_check.conformance.node import name_for_nodes
from crownless.model_check.logs.patterns import compiled
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput, unknown_name

Kind = Literal["udp", "tcp"]
Frame = Literal["line", "length"]
KINDS: tuple[Kind, ...] = ("udp", "tcp")
FRAMES: tuple[Frame, ...] = ("line", "length")
#: The line by which the application sends, unless another is given.
SEND = "send {to} {message}"
#: Waits of a node of up to so many seconds are let go by.
SETTLE = 0.5


@dataclass(frozen=True)
class Speaking:
    """`frame`: what a packet is in TCP; `send`: the line by which the application sends; `deliver`: what is found in
    the lines that the node prints as it delivers; `settle`: the longest wait of the node that is let go by."""

    kind: Kind
    deliver: Pattern[str]
    send: str = SEND
    frame: Frame = "line"
    settle: float = SETTLE

    def line(self, message: Message) -> bytes:
        """The line by which the application sends a message."""
        to = ",".join(map(str, message.receivers))
        return (self.send.replace("{to}", to).replace("{message}", name_for_nodes(message)) + "\n").encode()

    def delivered(self, line: bytes) -> str | None:
        """The message that a line says to be delivered; None: it says something else."""
        found = self.deliver.search(line.decode("utf-8", "replace").removesuffix("\r"))
        return None if found is None else found["message"]


def speaking(
    kind: str,
    deliver: str | None,
    send: str | None = None,
    frame: str | None = None,
    settle: float | None = None,
) -> Speaking:
    """As the options say it; raises `BadInput` for what cannot be."""
    if sys.platform != "linux" or not Path("/proc/self/task").is_dir():
        hint = "elsewhere give the node an adapter that speaks lines: docs/conformance.md"
        raise BadInput("--sockets needs Linux, whose /proc shows when a node has ended its answer", hint=hint)
    chosen = next((known for known in KINDS if known == kind), None)
    if chosen is None:
        raise unknown_name("kind of sockets", kind, KINDS)
    if deliver is None:
        hint = r"such as --deliver 'delivered (?<message>\S+)'"
        raise BadInput("--sockets without --deliver: what does the program print as it delivers?", hint=hint)
    pattern = compiled(deliver, "--deliver", ["message"])
    line = SEND if send is None else send
    for part in ("{to}", "{message}"):
        if part not in line:
            raise BadInput(f"--send has no {part}", hint=f"such as --send '{SEND}'")
    if "\n" in line:
        raise BadInput("--send has more than one line", hint=f"such as --send '{SEND}'")
    if frame is not None and chosen != "tcp":
        raise BadInput("--frame: only with --sockets tcp", hint="a datagram of UDP is a packet: leave it out")
    framed = next((known for known in FRAMES if known == (frame or FRAMES[0])), None)
    if framed is None:
        raise unknown_name("frame of packets", str(frame), FRAMES)
    return Speaking(chosen, pattern, line, framed, SETTLE if settle is None else settle)


def check_command(command: Sequence[str]) -> None:
    """Raises `BadInput` if nothing in the command says where the node listens, and where the others do."""
    text = " ".join(command)
    if "{listen}" not in text and "{port}" not in text:
        hint = "{listen} stands for the address, such as --listen {listen}; {port} for the port of 127.0.0.1"
        raise BadInput("the command has no {listen}: where is the program to listen?", hint=hint)
    if "{peers}" not in text:
        hint = "{peers} stands for the addresses of all processes, with commas between them: --peers {peers}"
        raise BadInput("the command has no {peers}: where are the others?", hint=hint)


def filled_in(command: Sequence[str], process: int, n: int, port: int, peers: Sequence[int]) -> list[str]:
    """The command that starts the node of a process."""
    parts = {
        "{id}": str(process),
        "{n}": str(n),
        "{listen}": f"127.0.0.1:{port}",
        "{port}": str(port),
        "{peers}": ",".join(f"127.0.0.1:{peer}" for peer in peers),
    }
    filled = list(command)
    for part, value in parts.items():
        filled = [word.replace(part, value) for word in filled]
    return filled
