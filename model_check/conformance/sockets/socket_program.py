"""One running program that owns its sockets: started, given inputs, and read until it is quiet."""

from __future__ import annotations

import fcntl
import struct
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from re import Pattern

from crownless.model_check.conformance.bodies import TextBody
from crownless.model_check.conformance.guardian import Guardian
from crownless.model_check.conformance.node import (
    Answer,
    Arrival,
    Delivers,
    Input,
    NodeFailure,
    NodeLimits,
    Output,
    Send,
    Transmits,
)
from crownless.model_check.conformance.running_program import RunningProgram
from crownless.spec.errors import BadInput
from crownless.spec.printable import shown, some

from .looks import sockets
from .proxies import Proxies, is_ignored
from .quiet import LOOK_EVERY, Ending, Quiet
from .speaking import Speaking

HEARTBEATS = "--ignore REGEX sets heartbeats aside: packets that it matches as a whole"
_SENDS = f"sends a packet; {HEARTBEATS}"


class SocketProgram(RunningProgram):
    """A program that was started with `command`, with `proxies` around it."""

    def __init__(
        self,
        command: Sequence[str],
        speaking: Speaking,
        proxies: Proxies,
        limits: NodeLimits,
        guardian: Guardian,
        ignored: Pattern[str] | None = None,
    ) -> None:
        self._speaking = speaking
        self._proxies = proxies
        self._ignored = ignored
        super().__init__(command, limits, guardian)
        proxies.watched(self._poll)
        self._quiet = Quiet(self._process.pid, speaking.settle)
        #: The input that it was given last, in words.
        self._given = "no input"
        #: How its answers ended.
        self.endings: list[Ending] = []

    @property
    def later(self) -> bool:
        """Was a timer left aside that will ring later?"""
        return self._quiet.later

    def start(self) -> None:
        """Waits until it listens, and is quiet. Raises `NodeFailure`, and `BadInput` if it then listens elsewhere."""
        try:
            answer = self._answer(b"")
        except NodeFailure as failure:
            self.end()
            raise NodeFailure(failure.kind, f"before its first input it {failure.said}{self._errors_said()}") from None
        if answer.outputs:
            self.end()
            output = answer.outputs[0]
            said = f"delivers {shown(output.message, str)}" if isinstance(output, Delivers) else _SENDS
            raise NodeFailure("speaks-unasked", f"before its first input it {said}")
        if not self._listens:
            self.end()
            port = self._proxies.port
            hint = f"{{listen}} is where it must bind a socket of {self._speaking.kind}, before it waits for anything"
            raise BadInput(f"the program does not listen at 127.0.0.1:{port}{self._errors_said()}", hint=hint)

    @property
    def _listens(self) -> bool:
        known = sockets()
        owned = self._quiet.files
        return any(f"socket:[{inode}]" in owned for inode, one in known.items() if one.port == self._proxies.port)

    def exchange(self, inputs: Sequence[Input]) -> list[Answer]:
        """The answers to these inputs; raises `NodeFailure`, after which this has ended."""
        answers: list[Answer] = []
        try:
            for one in inputs:
                self._check_silence()
                line = self._speaking.line(one.message) if isinstance(one, Send) else b""
                self._given = shown(line.decode().rstrip("\n")) if line else f"a packet from {_of(one).source}"
                self._quiet.begin()
                if not line:
                    self._arrives(_of(one))
                answers.append(self._answer(line))
        except NodeFailure as failure:
            self.end()
            raise NodeFailure(failure.kind, f"given {self._given} it {failure.said}{self._errors_said()}") from None
        return answers

    def _arrives(self, given: Arrival) -> None:
        try:
            self._proxies.send(given.source, str(given.body).encode("utf-8", "surrogateescape"))
        except TimeoutError:
            raise NodeFailure("hangs", f"has not taken it for {self._limits.seconds:g} s") from None
        except OSError as error:
            self._raise_if_ended()
            said = f"does not take it at 127.0.0.1:{self._proxies.port}: {error.strerror}"
            raise NodeFailure("node-fails", said) from None

    def _answer(self, unsent: bytes) -> Answer:
        """What it says until it is quiet."""
        outputs: list[Output] = []
        size = 0
        deadline = time.monotonic() + self._limits.seconds
        unsent = self._write(unsent)
        while True:
            if self._read_all(LOOK_EVERY):
                self._quiet.spoke()
                taken = self._outputs()
                outputs += taken
                size += sum(len(str(one.body)) for one in taken if isinstance(one, Transmits))
            self._raise_if_ended()
            unsent = self._write(unsent)
            if len(outputs) > self._limits.outputs or size > self._limits.answer:
                most = f"{self._limits.outputs:,} outputs, or {self._limits.answer:,} bytes,"
                raise NodeFailure("floods", f"gives more than {most} to one input")
            if time.monotonic() > deadline:
                after = f" after {some(len(outputs), 'output')}" if outputs else ""
                after += f"; {HEARTBEATS}" if any(isinstance(one, Transmits) for one in outputs) else ""
                raise NodeFailure("hangs", f"{self._quiet.why} after {self._limits.seconds:g} s{after}")
            if unsent or self._unread_input or (ending := self._quiet.look()) is None:
                continue
            if self._read_all(0.0):  # said between the last time that it was read and the last look
                self._quiet.spoke()
                outputs += self._outputs()
                continue
            self._proxies.check_end()
            self.endings.append(ending)
            return Answer(tuple(_in_order(outputs)))

    @property
    def _unread_input(self) -> bool:
        """Is there anything on its standard input that it has not read?"""
        with suppress(OSError):
            if struct.unpack("i", fcntl.ioctl(self._stdin, termios.FIONREAD, b"\0" * 4))[0]:
                self._quiet.why = "does not read it"
                return True
        return False

    def _read_all(self, seconds: float) -> bool:
        """Takes all that it has said, or says within so many seconds; true if any of it counts: what is to be ignored
        as a whole does not, nor what is on standard error.
        """
        said, waits = False, seconds * 1000
        while ready := self._poll.poll(waits):
            before, waits = self._ended, 0.0
            said |= self._read_streams([one for one in ready if not self._proxies.knows(one[0])])
            for number, _ in ready:
                if self._proxies.knows(number):
                    said |= self._proxies.read(number)
            if self._ended and not before:
                self._poll.unregister(self._stdout)
            if len(self._lines) + len(self._proxies.received) > self._limits.outputs:
                break
        return said

    def _read_streams(self, ready: list[tuple[int, int]]) -> bool:
        """Reads its standard output and error; true if it printed anything that counts."""
        before = len(self._lines)
        self._read(ready)
        printed = [self._lines.pop() for _ in range(len(self._lines) - before)][::-1]
        kept = [line for line in printed if not is_ignored(line, self._ignored)]
        self._lines.extend(kept)
        return bool(kept) or (not printed and any(number == self._stdout for number, _ in ready))

    def _outputs(self) -> list[Output]:
        """The outputs in what was read."""
        found: list[Output] = []
        while self._lines:
            if (message := self._speaking.delivered(self._lines.popleft())) is not None:
                found.append(Delivers(message))
        for to, body in self._proxies.take_packets():
            text = body.decode("utf-8", "surrogateescape")
            found.append(Transmits(to, text if self._ignored is None else TextBody(text, self._ignored)))
        return found

    def _check_silence(self) -> None:
        """Raises if it has said something since its answer was taken to have ended."""
        self._read_all(0.0)
        unasked = self._outputs()
        if unasked:
            one = unasked[0]
            what = f"delivered {shown(one.message, str)}" if isinstance(one, Delivers) else "sent a packet"
            hint = f"--settle {self._speaking.settle:g} may be too short"
            hint += f"; {HEARTBEATS}" if isinstance(one, Transmits) else ""
            raise NodeFailure("speaks-unasked", f"had {what} after its answer had seemed to end; {hint}")
        self._raise_if_ended()

    def _raise_if_ended(self) -> None:
        if self._ended or self._process.poll() is not None:
            raise self._failure_at_the_end()

    def end(self) -> None:
        super().end()
        self._proxies.forget()


def _of(given: Input) -> Arrival:
    assert isinstance(given, Arrival)
    return given


def _in_order(outputs: list[Output]) -> list[Output]:
    """Deliveries, then packets by receivers: what was first of those, nobody knows who sees them by different ways."""
    return sorted(outputs, key=lambda one: one.to if isinstance(one, Transmits) else -1)
