"""Nodes that are programs which speak lines: one process a node, which begins anew at `init`.

A program that runs is given one input after another. Its answers are counted, and a line too many would shift them. So
the input of each program is closed in the end, and whatever it then says that belongs to no answer is a failure.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from re import Pattern

from crownless.spec.enumeration import Sends as KindOfSends
from crownless.spec.errors import BadInput
from crownless.spec.printable import printable, shortened, shown, some

from .line_forms import NUMBERS, REPLIES, End, Form, JsonForm, PlainForm
from .maelstrom_form import MaelstromForm
from .node import (
    Answer,
    Delivers,
    History,
    Implementation,
    Input,
    NodeFailure,
    NodeLimits,
    Output,
    Query,
    Queues,
    Transmits,
    name_for_nodes,
)

#: How much of the end of standard error is read, in bytes, and shown, in characters.
READ, SHOWN = 4096, 300
#: Seconds in which a program that has closed its output must have ended, and between two looks whether it has.
ENDS_WITHIN, LOOK_EVERY = 0.5, 0.05
#: Seconds for which a program may speak unasked before its input ends.
SILENT_FOR = 0.002


class OutOfProcess(Implementation):
    """Nodes started by a command. `n` processes; `limits` on each answer. The form of lines is recognised by the answer
    to `init`."""

    may_shift = True

    def __init__(
        self,
        command: Sequence[str],
        n: int,
        limits: NodeLimits | None = None,
        *,
        ignored: Pattern[str] | None = None,
        sends: KindOfSends = "unicast",
    ) -> None:
        """`ignored`: what makes no difference in packets. `sends`: in which way applications send. Raises `BadInput` if
        the program ends before it has answered `init`.
        """
        self.name = printable(" ".join(command))
        self.n = n
        self.limits = limits or NodeLimits()
        self._command = list(command)
        self._numbers = count(1)
        self._running: dict[int, _Program] = {}
        #: The inputs that each running node has had since it began.
        self._had: dict[int, History] = {}
        #: Set if the program says more than its answer to the first `init`; later inputs cannot show that.
        self._fails_at_init: NodeFailure | None = None
        self._takes: frozenset[str] = frozenset()
        self._form = self._recognised([PlainForm(ignored), JsonForm(ignored), MaelstromForm(ignored, sends)])
        self.takes_replies = REPLIES in self._takes
        self.takes_steps = self._form.resets  # ticks and restarts
        self.most_repeats = 50_000 if self._form.resets else 500

    def give(self, process: int, inputs: History) -> tuple[int, list[Answer | NodeFailure]]:
        had = self._had.pop(process, None)
        if had is not None and (had != inputs[: len(had)] or len(had) == len(inputs)):
            had = None
        if process not in self._running or (had is None and not self._form.resets):
            self._end(process)
            self._running[process] = self._started()
        answers = self._answers(self._running[process], process, had, inputs)
        if isinstance(answers[-1], NodeFailure):
            self._end(process)
        elif inputs[-1].reply is None:  # otherwise the node may still hold the reply
            self._had[process] = inputs
        return len(had or ()), answers

    def give_anew(self, queries: Sequence[Query]) -> list[Answer | NodeFailure]:
        last: list[Answer | NodeFailure] = []
        program: _Program | None = None
        try:
            for number, (process, inputs) in enumerate(queries, 1):
                program = program or self._started()
                last.append(self._answers(program, process, None, inputs)[-1])
                if isinstance(last[-1], NodeFailure):
                    program.end()
                    program = None
                elif number == len(queries) or not self._form.resets:
                    try:
                        self._finish(program)
                    except NodeFailure as failure:
                        last[-1] = failure
                    program = None
        finally:
            if program is not None:
                program.end()
        return last

    def finish(self) -> None:
        running, self._running = self._running, {}
        self._had.clear()
        try:
            for process in list(running):
                self._finish(running.pop(process))
        finally:
            for program in running.values():
                program.end()

    def close(self) -> None:
        for process in list(self._running):
            self._end(process)

    def _end(self, process: int) -> None:
        if (program := self._running.pop(process, None)) is not None:
            program.end()

    def _finish(self, program: _Program) -> None:
        """Ends a program; raises `NodeFailure` if it has said more than its answers."""
        ends = program.finish(0.0 if self.best_effort else self.limits.seconds)
        if not ends and self._form.resets and NUMBERS not in self._takes:
            said = "the program goes on after the end of its input, and its answers have no numbers"
            self.best_effort = f"best effort: {said}"

    def _started(self) -> _Program:
        return _Program(self._command, self._form.of_one_node(), self.limits)

    def _recognised(self, forms: Sequence[Form]) -> Form:
        """The form in which the program answers `init`; if it answers in none, the first."""
        failures: list[tuple[NodeFailure, Form]] = []
        for form in forms:
            program = _Program(self._command, form.of_one_node(), self.limits)
            self._form = form
            try:
                program.ask(program.form.init(0, self.n))
                self._takes = program.takes
                self._finish(program)
            except NodeFailure as failure:
                if failure.kind != "speaks-unasked":
                    failures.append((failure, form))
                    continue
                self._fails_at_init = failure
            finally:
                program.end()
            return form
        first, _ = failures[0]
        answering = [form for failure, form in failures if failure.kind != "node-fails"]
        if not answering:
            hint = f"run it by hand: {forms[0].end}, the first one too"
            raise BadInput(f"'{self.name}' does not start in any form of lines: {first.said}", hint=hint)
        return answering[0]

    def _answers(
        self, program: _Program, process: int, had: History | None, inputs: History
    ) -> list[Answer | NodeFailure]:
        """The answers to the inputs that a program has not had yet; `had` None: it begins anew."""
        answers: list[Answer | NodeFailure] = []
        try:
            if self._fails_at_init is not None:
                raise self._fails_at_init
            if had is None and program.ask(program.form.init(process, self.n)):
                said = f"answers `init` with more than '{self._form.begins_anew}'"
                raise NodeFailure("speaks-unasked", program.named(said))
            for one in inputs[len(had or ()) :]:
                number = next(self._numbers) if NUMBERS in self._takes else None
                answer = program.ask(program.form.given(one, number), number)
                _check_reply(one, answer)
                answers.append(answer)
        except NodeFailure as failure:
            answers.append(failure)
        return answers


def _check_reply(given: Input, answer: Answer) -> None:
    """Raises if a node that takes replies delivers a message, and does nothing for the reply then."""
    delivered = next((k for k, output in enumerate(answer) if isinstance(output, Delivers)), None)
    if given.reply is None or delivered is None:
        return
    name = name_for_nodes(given.reply)
    if not any(
        isinstance(one, Transmits) or (isinstance(one, Queues | Delivers) and one.message == name)
        for one in answer[delivered + 1 :]
    ):
        message = answer[delivered]
        assert isinstance(message, Delivers)
        hint = f"say `queued {name}` if it is sent later, or `ok` to `init`, without `{REPLIES}`"
        said = f"takes the reply {name}, and transmits nothing after it delivers {message.message}; {hint}"
        raise NodeFailure("not-understood", said)


class _Program:
    """A running program, spoken to line by line within limits."""

    def __init__(self, command: Sequence[str], form: Form, limits: NodeLimits) -> None:
        self.form = form
        #: The optional parts of the protocol that its last answer has named.
        self.takes: frozenset[str] = frozenset()
        self._limits = limits
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it is closed by `end`)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._errors.close()
            reason = getattr(error, "strerror", None) or str(error)
            hint = "give the command of a program that can be run here"
            raise BadInput(f"{shown(command[0], str)} cannot be started: {reason}", hint=hint) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        #: Whole lines that nobody has read, and what comes after the last of them.
        self._lines: deque[bytes] = deque()
        self._unfinished = b""
        self._read = 0
        self._at_end = False
        #: The input at which it is, and the one before.
        self._given = self._before = ""

    def ask(self, lines: Sequence[str], number: int | None = None) -> Answer:
        """The answer to an input; raises `NodeFailure`, after which the program is of no use any more."""
        try:
            self._wait(0.0)
            if self._lines or self._unfinished:
                raise self._unasked()
            self._before, self._given = self._given, lines[self.form.shown]
            with suppress(OSError):  # it reads no more; what it has said is read, and then it has ended
                self._stdin.write("".join(f"{line}\n" for line in lines).encode())
            answer = self._answer(number)
            if self._lines or self._unfinished:
                self._before = self._given
                raise self._unasked()
        except NodeFailure as failure:
            raise NodeFailure(failure.kind, self.named(failure.said, failure.kind)) from None
        return answer

    def finish(self, seconds: float) -> bool:
        """Ends its input, reads what it still says, and ends it. True if it ended by itself within these seconds.

        Raises `NodeFailure` if it has said a line of the protocol that belongs to no answer; other lines may be its
        farewell.
        """
        until = time.monotonic() + seconds
        self._before = self._given
        try:
            self._wait(SILENT_FOR)
            self._stdin.close()
            while not self._at_end and (left := until - time.monotonic()) > 0:
                self._wait(min(left, LOOK_EVERY))
                self._at_end |= self._process.poll() is not None and not self._is_ready(0.0)
            while self._lines and not self._is_of_protocol(self._lines[0]):
                self._lines.popleft()
            if self._lines:
                raise NodeFailure("speaks-unasked", self.named(self._unasked().said, "speaks-unasked"))
        finally:
            self.end()
        return self._at_end

    def end(self) -> None:
        """Ends the program, and all of its group."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._stdin, self._stdout, self._errors):
            with suppress(OSError):
                stream.close()

    def named(self, said: str, kind: str = "") -> str:
        """What is said of it, with the input at which it happened, and the end of its standard error."""
        unasked = kind == "speaks-unasked"
        where = f"after its answer to {shown(self._before)}" if unasked else f"given {shown(self._given)}"
        with suppress(OSError, ValueError):
            self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - READ))
            errors = self._errors.read().decode("utf-8", "backslashreplace").strip()
            said += f"; its standard error ends: {shortened(errors, SHOWN)}" if errors else ""
        return f"{where} it {said}"

    # -- its lines -----------------------------------------------------------------------------------------------------

    def _answer(self, number: int | None) -> Answer:
        """Reads lines up to the end of an answer."""
        outputs: list[Output] = []
        until, self._read = time.monotonic() + self._limits.seconds, 0
        while True:
            while self._lines:
                for output in self._outputs(self._lines.popleft()):
                    if isinstance(output, End):
                        self._check_number(output, number)
                        self.takes = output.takes
                        return tuple(outputs)
                    outputs.append(output)
                    if len(outputs) > self._limits.outputs:
                        said = f"gives more than {self._limits.outputs:,} outputs to one input"
                        raise NodeFailure("floods", said)
            if self._at_end:
                raise self._failure_at_the_end()
            left = until - time.monotonic()
            if left <= 0:
                raise self._hangs(len(outputs))
            ready = self._wait(min(left, LOOK_EVERY))
            if not ready and self._process.poll() is not None and not self._is_ready(0.0):
                raise self._failure_at_the_end()  # its output does not end, since another process has it, too

    def _outputs(self, line: bytes) -> Sequence[Output | End]:
        try:
            return self.form.outputs(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError:
            raise NodeFailure("not-understood", f"says {_text(line)}, which is no UTF-8") from None

    def _check_number(self, end: End, number: int | None) -> None:
        """Raises if this is the end of the answer to another input."""
        if number is not None and end.number != number:
            again = end.number is not None and end.number < number
            said = f"ends the answer to input {end.number}, and the end of the answer to input {number} is due"
            raise NodeFailure("speaks-unasked" if again else "not-understood", said)

    def _is_of_protocol(self, line: bytes) -> bool:
        try:
            return bool(self._outputs(line))
        except NodeFailure:
            return False

    def _is_ready(self, seconds: float) -> bool:
        return bool(select.select([self._stdout], [], [], seconds)[0])

    def _wait(self, seconds: float) -> bool:
        """Reads what it says within this time, if anything; true if it did."""
        if self._at_end or not self._is_ready(seconds):
            return False
        block = os.read(self._stdout.fileno(), 1 << 16)
        self._at_end = not block
        *lines, self._unfinished = (self._unfinished + block).split(b"\n")
        self._lines.extend(lines)
        self._read += len(block)
        if self._read > self._limits.bytes:
            raise NodeFailure("floods", f"says more than {self._limits.bytes:,} bytes to one input")
        return True

    # -- what goes wrong -----------------------------------------------------------------------------------------------

    def _unasked(self) -> NodeFailure:
        said = self._lines[0] if self._lines else self._unfinished
        return NodeFailure("speaks-unasked", f"says {_text(said)} that is no part of an answer")

    def _hangs(self, outputs: int) -> NodeFailure:
        half = f" and the unfinished line {_text(self._unfinished)}" if self._unfinished else ""
        after = f" after {some(outputs, 'output')}{half}" if outputs or half else ""
        return NodeFailure("hangs", f"has not answered for {self._limits.seconds:g} s{after}; {self.form.end}")

    def _failure_at_the_end(self) -> NodeFailure:
        """What happened to a program whose output has ended."""
        half = f" in the middle of the line {_text(self._unfinished)}" if self._unfinished else ""
        try:
            return NodeFailure("node-fails", f"{_ended_by(self._process.wait(ENDS_WITHIN))}{half}")
        except subprocess.TimeoutExpired:
            return NodeFailure("hangs", f"has closed its output{half} and goes on running")


def _ended_by(code: int) -> str:
    """What ended a program, by what the system says of it."""
    if code >= 0:
        return f"exits with code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"is ended by {names.get(-code, f'signal {-code}')}"


def _text(line: bytes) -> str:
    """Bytes as text in quotes where they are text, shortened if there are many."""
    try:
        return shown(line.decode())
    except UnicodeDecodeError:
        return shown(line)
