"""One running program of a node, spoken to line by line within limits."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from crownless.spec.printable import shown, some

from .guardian import Guardian
from .line_forms import End, Form, Given, shown_bytes
from .node import Answer, NodeFailure, NodeLimits, Output
from .running_program import RunningProgram

#: Seconds for which a program may speak unasked before its input ends.
SILENT_FOR = 0.002
#: Seconds between two looks at whether a program that says nothing is still there.
LOOK_EVERY = 0.05


class NodeProcess(RunningProgram):
    """A program that was started with `command`. `prefix`: the lines of the protocol begin with it, others are its
    own affair. `takes`: the optional parts of the protocol that another process of the program has announced."""

    def __init__(
        self,
        command: Sequence[str],
        form: Form,
        limits: NodeLimits,
        guardian: Guardian,
        prefix: str = "",
        environment: Mapping[str, str] | None = None,
        takes: frozenset[str] | None = None,
    ) -> None:
        self.form = form
        self.takes = takes
        #: The input that it has answered last.
        self._answered: Given | None = None
        super().__init__(command, limits, guardian, prefix, environment)

    def exchange(self, inputs: Sequence[Given]) -> list[Answer]:
        """The answers to these inputs; raises `NodeFailure`, after which this has ended."""
        answers: list[Answer] = []
        try:
            if self._answered is not None:
                self._check_silence()
            self._exchange(inputs, answers)
            if self._lines or self._has_begun:
                self._check_silence()
        except NodeFailure as failure:
            self.end()
            raise self._named(failure, inputs[min(len(answers), len(inputs) - 1)]) from None
        return answers

    def finish(self, seconds: float) -> bool:
        """Ends its input, reads what it still says, and ends it. True if it ended by itself within so many seconds.

        Raises `NodeFailure` if it has said a line of the protocol that belongs to no answer. A program that handles its
        input line by line has said all that it says once it ends; other lines may be its farewell.
        """
        until = time.monotonic() + seconds
        try:
            self._read(self._poll.poll(SILENT_FOR * 1000))
            self._close_input()
            while not (ended := self._ended or (self._process.poll() is not None and not self._poll.poll(0))):
                left = until - time.monotonic()
                if left <= 0 or self._lines:
                    break
                self._read(self._poll.poll(min(left, LOOK_EVERY) * 1000))
                self._forget_farewells()
            self._forget_farewells()
            if self._lines or self._has_begun:
                self._raise_unasked()
        except NodeFailure as failure:
            raise self._named(failure, None) from None
        finally:
            self.end()
        return ended

    def _forget_farewells(self) -> None:
        """Forgets the first lines that are none of the protocol."""
        while self._lines:
            with suppress(NodeFailure):
                if self.form.outputs(self._lines[0]):
                    return
            self._lines.popleft()

    def _named(self, failure: NodeFailure, given: Given | None) -> NodeFailure:
        """The failure with the input at which it happened: if the node spoke unasked, the last one that it answered."""
        unasked = failure.kind == "speaks-unasked"
        at = self._answered if unasked or given is None else given
        text = "" if at is None else self.form.shown(at.lines).decode("utf-8", "backslashreplace")
        where = f"after its answer to {shown(text)}" if unasked else f"given {shown(text)}"
        return NodeFailure(failure.kind, f"{where} it {failure.said}{self._errors_said()}")

    def _exchange(self, inputs: Sequence[Given], answers: list[Answer]) -> None:
        unsent = self._write(b"".join(given.lines for given in inputs))
        outputs: list[Output] = []
        size = 0
        deadline = time.monotonic() + self._limits.seconds
        while True:
            while self._lines:
                line = self._lines.popleft()
                size += len(line)
                if size > self._limits.answer:
                    raise NodeFailure(
                        "floods", f"gives outputs of more than {self._limits.answer:,} bytes to one input"
                    )
                for output in self.form.outputs(line):
                    if isinstance(output, End):
                        self._check_end(line, output, inputs[len(answers)])
                        self._answered = inputs[len(answers)]
                        answers.append(Answer(tuple(outputs), output.state))
                        outputs, size = [], 0
                        deadline = time.monotonic() + self._limits.seconds
                        continue
                    outputs.append(output)
                    if len(outputs) > self._limits.outputs:
                        raise NodeFailure("floods", f"gives more than {self._limits.outputs:,} outputs to one input")
                if len(answers) == len(inputs):
                    return
            if self._ended:
                raise self._failure_at_the_end()
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._hangs(len(outputs))
            if unsent:
                self._poll.register(self._stdin, select.POLLOUT)
            ready = self._poll.poll(min(left, LOOK_EVERY) * 1000)
            if unsent:
                self._poll.unregister(self._stdin)
                unsent = self._write(unsent)
            self._read(ready)
            if not ready and self._process.poll() is not None and not self._poll.poll(0):
                raise self._failure_at_the_end()  # its output does not end, since another process has it, too

    def _check_end(self, line: bytes, end: End, given: Given) -> None:
        """Raises if this is the end of the answer to another input; notes what the node takes."""
        if given.is_init:
            self.takes = end.takes if self.takes is None else self.takes
            if end.takes != self.takes:
                first, now = (" ".join(("ok", *sorted(takes))) for takes in (self.takes, end.takes))
                kind = "not-deterministic" if self._answered is None else "speaks-unasked"
                raise NodeFailure(kind, f"says {now!r}, and its first answer to `init` was {first!r}")
        elif given.number is not None and end.number != given.number:
            again = end.number is not None and end.number < given.number
            said = f"says {shown_bytes(line)}, and the end of the answer to input {given.number} is due"
            raise NodeFailure("speaks-unasked" if again else "not-understood", said)

    def _check_silence(self) -> None:
        """Raises if the node has said something that was no answer, or has ended."""
        if not (self._lines or self._has_begun or self._ended):
            self._read(self._poll.poll(0))
        if self._lines or self._has_begun:
            self._raise_unasked()
        if self._ended:
            raise self._failure_at_the_end()

    def _raise_unasked(self) -> NoReturn:
        said = self._lines[0] if self._lines else self._unfinished
        raise NodeFailure("speaks-unasked", f"says {shown_bytes(said)} that is no part of an answer")

    def _close_input(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    @property
    def _has_begun(self) -> bool:
        """Has the node begun a line of the protocol?"""
        return len(self._unfinished) > max(0, len(self._prefix) - 1)

    def _hangs(self, outputs: int) -> NodeFailure:
        half = f" and the unfinished line {shown_bytes(self._unfinished)}" if self._unfinished else ""
        after = f" after {some(outputs, 'output')}{half}" if outputs or half else ""
        return NodeFailure("hangs", f"has not answered for {self._limits.seconds:g} s{after}; {self.form.end}")
