"""One running program of a node: how it is started, what it says on its streams, and how it ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress

from crownless.spec.errors import BadInput
from crownless.spec.printable import shortened, shown

from .guardian import Guardian
from .line_forms import shown_bytes
from .node import NodeFailure, NodeLimits

#: So much of what a node writes to its standard error is kept, in bytes, and shown, in characters.
KEPT, SHOWN = 4096, 300
#: Seconds in which a program that has closed its output must have ended.
ENDS_WITHIN = 0.5


class RunningProgram:
    """A program that was started with `command`. `prefix`: its lines begin with it, others are its own affair."""

    def __init__(
        self,
        command: Sequence[str],
        limits: NodeLimits,
        guardian: Guardian,
        prefix: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._limits = limits
        self._guardian = guardian
        self._prefix = prefix.encode()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env={**guardian.environment, **(environment or {})},
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            hint = "give the command of a program that can be run here"
            raise BadInput(f"{shown(command[0], str)} cannot be started: {reason}", hint=hint) from None
        guardian.started(self._process.pid)
        streams = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._stdin, self._stdout, self._stderr = (stream.fileno() for stream in streams if stream is not None)
        for number in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(number, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        #: Whole lines of the protocol that nobody has read, and what comes after the last of them.
        self._lines: deque[bytes] = deque()
        self._unfinished = b""
        #: In the middle of a line that is none of the protocol.
        self._in_another = False
        self._errors = b""
        self._ended = False
        self._was_ended = False

    # -- its streams ---------------------------------------------------------------------------------------------------

    def _write(self, unsent: bytes) -> bytes:
        try:
            return unsent[os.write(self._stdin, unsent) :] if unsent else unsent
        except BlockingIOError:
            return unsent
        except OSError:  # it reads no more; what it has said is read, and then it has ended
            return b""

    def _read(self, ready: Sequence[tuple[int, int]]) -> None:
        for number, _ in ready:
            if number == self._stdin:
                continue
            with suppress(BlockingIOError):
                block = os.read(number, 1 << 16)
                if number == self._stderr:
                    self._errors = (self._errors + block)[-KEPT:]
                    if not block:
                        self._poll.unregister(number)
                elif block:
                    self._take(block)
                else:
                    self._ended = True

    def _take(self, block: bytes) -> None:
        """Splits what the node has said into lines, and keeps those of the protocol."""
        if self._in_another:
            _, end, block = block.partition(b"\n")
            if not end:
                return
            self._in_another = False
        *lines, rest = (self._unfinished + block).split(b"\n")
        if self._prefix:
            size = len(self._prefix)
            lines = [line[size:] for line in lines if line.startswith(self._prefix)]
            self._in_another = not rest.startswith(self._prefix[: len(rest)])
            rest = b"" if self._in_another else rest
        self._lines.extend(lines)
        self._unfinished = rest
        if len(rest) > self._limits.line:
            begin = shown_bytes(rest[:60])
            raise NodeFailure("floods", f"says a line of more than {self._limits.line:,} bytes, which begins {begin}")

    # -- the end -------------------------------------------------------------------------------------------------------

    def _failure_at_the_end(self) -> NodeFailure:
        """What happened to a program whose output has ended."""
        half = f" in the middle of the line {shown_bytes(self._unfinished)}" if self._unfinished else ""
        try:
            code = self._process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            return NodeFailure("hangs", f"has closed its output{half} and goes on running")
        with suppress(OSError):
            self._errors = (self._errors + os.read(self._stderr, 1 << 16))[-KEPT:]
        return NodeFailure("node-fails", f"{_ended_by(code)}{half}")

    def _errors_said(self) -> str:
        """The end of its standard error, as a failure has it."""
        errors = self._errors.decode("utf-8", "backslashreplace").strip()
        return f"; its standard error ends: {shortened(errors, SHOWN)}" if errors else ""

    def end(self) -> None:
        """Ends the program, and all of its group, unless that was done."""
        if self._was_ended:
            return
        self._ended = self._was_ended = True
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._guardian.ended(self._process.pid)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _ended_by(code: int) -> str:
    """What ended a program, by what the system says of it."""
    if code >= 0:
        return f"exits with code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"is ended by {names.get(-code, f'signal {-code}')}"
