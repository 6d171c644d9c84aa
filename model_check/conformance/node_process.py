"""One running program of a node, spoken to line by line within limits."""

from __future__ import annotations

import select
import time
from collections.abc import Mapping, Sequence

from crownless.model_check.wrong_machine import shown
from crownless.spec.printable import some

from .guardian import Guardian
from .line_forms import End, Form, shown_bytes
from .node import Answer, NodeFailure, Output
from .node_limits import NodeLimits
from .running_program import RunningProgram

#: Seconds between two looks at whether a program that says nothing is still there.
LOOK_EVERY = 0.05


class NodeProcess(RunningProgram):
    """A program that was started with `command`. `prefix`: the lines of the protocol begin with it, others are its
    own affair."""

    def __init__(
        self,
        command: Sequence[str],
        form: Form,
        limits: NodeLimits,
        guardian: Guardian,
        prefix: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.form = form
        super().__init__(command, limits, guardian, prefix, environment)

    def exchange(self, inputs: Sequence[bytes], silent_for: float = 0.0) -> list[Answer]:
        """The answers to these inputs, each given as its lines; raises `NodeFailure`, after which this has ended.

        After the last answer the node must say nothing for so many seconds.
        """
        answers: list[Answer] = []
        try:
            self._check_silence()
            self._exchange(inputs, answers)
            if self._lines or self._has_begun or silent_for:
                self._check_silence(silent_for)
        except NodeFailure as failure:
            self.end()
            given = self.form.shown(inputs[min(len(answers), len(inputs) - 1)]).decode("utf-8", "backslashreplace")
            raise NodeFailure(failure.kind, f"given {shown(given)} it {failure.said}{self._errors_said()}") from None
        return answers

    def _exchange(self, inputs: Sequence[bytes], answers: list[Answer]) -> None:
        unsent = self._write(b"".join(inputs))
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

    def _check_silence(self, seconds: float = 0.0) -> None:
        """Raises if the node has said something that was no answer, or says it within so many seconds."""
        until = time.monotonic() + seconds
        while not (self._lines or self._has_begun or self._ended):
            ready = self._poll.poll(max(0.0, until - time.monotonic()) * 1000)
            self._read(ready)
            if not ready or (seconds and time.monotonic() > until):
                break
        if self._lines or self._has_begun:
            said = self._lines[0] if self._lines else self._unfinished
            raise NodeFailure("speaks-unasked", f"says {shown_bytes(said)} that is no part of an answer")
        if self._ended and not seconds:
            raise self._failure_at_the_end()

    @property
    def _has_begun(self) -> bool:
        """Has the node begun a line of the protocol?"""
        return len(self._unfinished) > max(0, len(self._prefix) - 1)

    def _hangs(self, outputs: int) -> NodeFailure:
        half = f" and the unfinished line {shown_bytes(self._unfinished)}" if self._unfinished else ""
        after = f" after {some(outputs, 'output')}{half}" if outputs or half else ""
        return NodeFailure("hangs", f"has not answered for {self._limits.seconds:g} s{after}; {self.form.end}")
