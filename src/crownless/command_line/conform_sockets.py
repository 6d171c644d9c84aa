"""The options of `crownless conform` for programs that own their sockets, and what goes with none of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from crownless.model_check.conformance.sockets.speaking import SETTLE, Speaking, speaking
from crownless.spec.errors import BadInput

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Sockets(NamedTuple):
    """The options as they were given; `kind` None: the program speaks lines."""

    kind: str | None = None
    deliver: str | None = None
    send: str | None = None
    frame: str | None = None
    settle: float | None = None

    def speaking(self, refused: dict[str, Any], *, of_command: bool) -> Speaking | None:
        """How the program is spoken to; None: by lines. Raises `BadInput`, also for an option of `refused` that was
        given: it makes no sense with sockets."""
        if self.kind is None:
            for option, value in zip(("deliver", "send", "frame", "settle"), self[1:], strict=True):
                if value is not None:
                    raise BadInput(f"--{option} without --sockets", hint="add --sockets udp, or tcp")
            return None
        if not of_command:
            raise BadInput("--sockets: only of a command after --", hint="leave it out")
        for option, value in refused.items():
            if value:
                hint = "such a program is sent messages and packets, and nothing else: leave it out"
                raise BadInput(f"{option} and --sockets do not go together", hint=hint)
        return speaking(self.kind, self.deliver, self.send, self.frame, self.settle)


def with_sockets(verb: Verb) -> Verb:
    """Gives a verb `--sockets` and the options that go with it; it is called with them as `sockets`."""

    @click.option("--sockets", "kind", metavar="KIND", help="COMMAND owns its sockets: udp or tcp.")
    @click.option("--deliver", metavar="REGEX", help=r"With --sockets: what it prints, as 'delivered (?<message>\S+)'.")
    @click.option("--send", metavar="LINE", help="With --sockets: what it reads.  [default: send {to} {message}]")
    @click.option("--frame", help="A packet in TCP: line, or length (4 bytes before it).  [default: line]")
    @click.option(
        "--settle",
        type=click.FloatRange(min=0.0),
        metavar="S",
        help=f"With --sockets: waits of its own of up to S seconds are let go by.  [default: {SETTLE:g}]",
    )
    @wraps(verb)
    def with_them(
        *arguments: Any,
        kind: str | None,
        deliver: str | None,
        send: str | None,
        frame: str | None,
        settle: float | None,
        **options: Any,
    ) -> Any:
        return verb(*arguments, sockets=Sockets(kind, deliver, send, frame, settle), **options)

    return with_them  # type: ignore[return-value]  # its options are added, which no type states
