"""Nodes that are programs with a line-based interface: one process per node, which begins anew at `init`.

A running program gets one input after another. Its answers are counted, and one extra line would shift them. So the
input of each program is closed at the end, and any further output that belongs to no answer is a failure.
"""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from re import Pattern

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable, shortened, shown, some
from crownless.spec.enumeration import Sends as KindOfSends

from .line_forms import End, Form, JsonForm, PlainForm
from .maelstrom_form import MaelstromForm
from .node import (
    ONE_AT_A_TIME,
    Answer,
    Delivers,
    Implementation,
    Input,
    Node,
    NodeFailure,
    NodeLimits,
    Output,
    Queues,
    Transmits,
    name_for_nodes,
)

#: How much of the end of standard error is read (in bytes) and shown (in characters).
READ, SHOWN = 4096, 300
#: Seconds within which a program must end after closing its output, and between polls for its end.
ENDS_WITHIN, LOOK_EVERY = 0.5, 0.05
#: Seconds during which a program may speak unasked before its input ends.
SILENT_FOR = 0.002
#: Why a program may not have answered at all, and why not to the last of the lines that were written together.
NOT_FLUSHED = "its output may not be flushed"
INPUT_BUFFERED = (
    "its input may be buffered: `select` and `poll` do not see a line that was read together with the one before it"
)


class OutOfProcess(Implementation):
    """Nodes started by a command. The line form is recognised by the answer to `init`."""

    may_shift = True
    not_tried = ONE_AT_A_TIME

    def __init__(
        self,
        command: Sequence[str],
        n: int,
        limits: NodeLimits | None = None,
        *,
        ignored: Pattern[str] | None = None,
        sends: KindOfSends = "unicast",
    ) -> None:
        """`ignored`: parts of packets that are not compared. `sends`: how applications send. Raises `BadInput` if the
        program ends before it has answered `init`.
        """
        super().__init__(printable(" ".join(command)), n, limits)
        self._command = list(command)
        #: Set if the first `init` has no proper answer; later inputs would not reveal it.
        self._fails_at_init: NodeFailure | None = None
        self._form = self._recognised([PlainForm(ignored), JsonForm(ignored), MaelstromForm(ignored, sends)])
        self.resets = self.takes_steps = self._form.resets
        self.most_repeats = 50_000 if self.resets else 500

    def start(self, process: int, running: Node | None = None) -> "_Program":
        if self._fails_at_init is not None:
            raise self._fails_at_init
        program = running if isinstance(running, _Program) else None
        if program is not None and not self.resets:
            program.close()
            program = None
        program = program or _Program(self._command, self._form.of_one_node(), self)
        try:
            program.begin(process)
        except BaseException:
            program.close()
            raise
        return program

    def _recognised(self, forms: Sequence[Form]) -> Form:
        """The form in which the program answers `init`. If there is none, the form of a line that it says anyway, or
        the first form in which it does not end.
        """
        failures: list[tuple[Form, NodeFailure]] = []
        lines: list[str] = []
        for form in forms:
            program = _Program(self._command, form.of_one_node(), self)
            try:
                program.begin(0)
                self.takes_replies = program.takes_replies
                program.finish()
            except NodeFailure as failure:
                failures.append((form, failure))
                lines.append(program.last_line)
                if failure.kind != "speaks-unasked":
                    continue
                self._fails_at_init = failure
            finally:
                program.close()
            return form
        if all(failure.kind == "node-fails" for _, failure in failures):
            said = f"'{self.name}' starts with none of the known line protocols: {failures[0][1].said}"
            raise BadInput(said, hint=f"run it by hand: {forms[0].end}, the first one too")
        spoken = [pair for pair in failures[:2] if any(pair[0].understands(line) for line in lines)]
        goes_on = [pair for pair in failures if pair[1].kind != "node-fails"]
        form, self._fails_at_init = (spoken or goes_on)[0]
        return form


def _check_reply(given: Input, answer: Answer) -> None:
    """Raises if a node that takes replies delivers a message without handling the reply."""
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
        hint = f"say `queued {name}` if it is sent later, or `ok` to `init`, without `replies`"
        said = f"takes the reply {name}, and transmits nothing after it delivers {message.message}; {hint}"
        raise NodeFailure("not-understood", said)


class _Program(Node):
    """A running program, driven line by line within limits."""

    def __init__(self, command: Sequence[str], form: Form, nodes: OutOfProcess) -> None:
        self.form = form
        #: True if its last answer says that it takes replies.
        self.takes_replies = False
        self._nodes = nodes
        self._limits = nodes.limits
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it is closed by `close`)
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
            hint = "give the command of a program that runs on this machine"
            raise BadInput(f"{shown(command[0], str)} cannot be started: {reason}", hint=hint) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        #: Whole unread lines, and the text after the last of them.
        self._lines: deque[bytes] = deque()
        self._unfinished = b""
        self._read = 0
        self._at_end = False
        #: The last line read.
        self.last_line = ""
        #: The current input, and the previous one; and whether the current one is of several lines.
        self._given = self._before = ""
        self._several = False

    def begin(self, process: int) -> None:
        """Makes it start anew at this process."""
        if self._ask(self.form.init(process, self._nodes.n)):
            said = f"answers `init` with more than '{self.form.begins_anew}'"
            raise NodeFailure("speaks-unasked", self._named(said))

    def answer(self, given: Input) -> Answer:
        answer = self._ask(self.form.given(given))
        _check_reply(given, answer)
        return answer

    def _ask(self, lines: Sequence[str]) -> Answer:
        try:
            self._wait(0.0)
            if self._lines or self._unfinished:
                raise self._unasked()
            self._before, self._given, self._several = self._given, lines[self.form.shown], len(lines) > 1
            with suppress(OSError):  # it reads no more; what it has said is read, and then it has ended
                self._stdin.write("".join(f"{line}\n" for line in lines).encode())
            answer = self._answer()
            if self._lines or self._unfinished:
                self._before = self._given
                raise self._unasked()
        except NodeFailure as failure:
            raise self._at_input(failure) from None
        return answer

    def finish(self) -> None:
        """Ends its input, reads its remaining output, and ends it. Raises `NodeFailure` if it closed its output
        earlier, or said a protocol line that belongs to no answer; other lines are ignored.
        """
        until = time.monotonic() + (0.0 if self._nodes.best_effort else self._limits.seconds)
        try:
            self._wait(SILENT_FOR)
            closed = self._failure_at_the_end() if self._at_end else None
            self._stdin.close()
            while not self._at_end and (left := until - time.monotonic()) > 0:
                self._wait(min(left, LOOK_EVERY))
                self._at_end |= self._process.poll() is not None and not self._is_ready(0.0)
            while self._lines and not self.form.understands(self._lines[0].decode(errors="replace")):
                self._lines.popleft()
            self._before = self._given
            if self._lines:
                raise self._at_input(self._unasked())
            if closed is not None:
                raise self._at_input(closed)
        finally:
            self.close()
        if not self._at_end and self.form.resets:
            self._nodes.best_effort = "best effort: the program keeps running after the end of its input"

    def close(self) -> None:
        """Ends the program, and all of its group."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._stdin, self._stdout, self._errors):
            with suppress(OSError):
                stream.close()

    def _at_input(self, failure: NodeFailure) -> NodeFailure:
        """The failure, with the input at which it happened."""
        return NodeFailure(failure.kind, self._named(failure.said, failure.kind))

    def _named(self, said: str, kind: str = "") -> str:
        """The description, with the input at which it happened, and the end of its standard error."""
        unasked = kind == "speaks-unasked"
        where = f"after its answer to {shown(self._before)}" if unasked else f"given {shown(self._given)}"
        with suppress(OSError, ValueError):
            self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - READ))
            errors = self._errors.read().decode("utf-8", "backslashreplace").strip()
            said += f"; its standard error ends: {shortened(errors, SHOWN)}" if errors else ""
        return f"{where} it {said}"

    # -- its lines -----------------------------------------------------------------------------------------------------

    def _answer(self) -> Answer:
        """Reads lines up to the end of an answer."""
        outputs: list[Output] = []
        until, self._read = time.monotonic() + self._limits.seconds, 0
        while True:
            while self._lines:
                for output in self._outputs(self._lines.popleft()):
                    if isinstance(output, End):
                        self.takes_replies = output.replies
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
            self.last_line = line.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            raise NodeFailure("not-understood", f"says {_text(line)}, which is not UTF-8") from None
        return self.form.outputs(self.last_line)

    def _is_ready(self, seconds: float) -> bool:
        return bool(select.select([self._stdout], [], [], seconds)[0])

    def _wait(self, seconds: float) -> bool:
        """Reads any output within this time; true if there was some."""
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

    # -- failures ------------------------------------------------------------------------------------------------------

    def _unasked(self) -> NodeFailure:
        said = self._lines[0] if self._lines else self._unfinished
        return NodeFailure("speaks-unasked", f"says {_text(said)} that is not part of an answer")

    def _hangs(self, outputs: int) -> NodeFailure:
        half = f" and the unfinished line {_text(self._unfinished)}" if self._unfinished else ""
        after = f" after {some(outputs, 'output')}{half}" if outputs or half else ""
        why = INPUT_BUFFERED if self._several and self._read else NOT_FLUSHED
        return NodeFailure("hangs", f"has not answered for {self._limits.seconds:g} s{after}; {self.form.end}; {why}")

    def _failure_at_the_end(self) -> NodeFailure:
        """The failure of a program whose output has ended."""
        half = f" in the middle of the line {_text(self._unfinished)}" if self._unfinished else ""
        try:
            return NodeFailure("node-fails", f"{_ended_by(self._process.wait(ENDS_WITHIN))}{half}")
        except subprocess.TimeoutExpired:
            return NodeFailure("hangs", f"has closed its output{half} and keeps running")


def _ended_by(code: int) -> str:
    """How a program ended, by its exit status."""
    if code >= 0:
        return f"exits with code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"is ended by {names.get(-code, f'signal {-code}')}"


def _text(line: bytes) -> str:
    """Bytes as quoted text if they are text, shortened if long."""
    try:
        return shown(line.decode())
    except UnicodeDecodeError:
        return shown(line)
