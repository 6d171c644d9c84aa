"""The papers' notation for programs and computations: one grammar, one parser, printed back unchanged.

[MF] §4 writes a program as one line per process:

    P1: send x to P3; ... send y to P2; ...
    P2: receive; ... send z to P3; ...
    P3: receive from P2; receive from P1   # selective: each receive names the sender that it accepts

A computation is written the same way; there every receive names its message, as in `receive z`.

    line       =  [ name ":" [ statement { separator statement } [ ";" ] ] ] [ "#" comment ]
    statement  =  "send" name "to" name { "," name }  |  "receive" [ name ] [ "from" name ]  |  "..."
    separator  =  ";", which may be left out after "..."

A name consists of letters, digits, `_`, `-` and `.`, and is not a keyword. `…` may be written for `...`. White space
between words is free; `Script.print` writes single spaces, and reproduces such text unchanged.

`parse` also rejects texts that are meaningless both as a program and as a computation (the same message sent twice, …),
and `to_computation` those that are meaningless as a computation. An unexpected word is reported where it stands,
everything else where its statement begins.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import in_brackets, shown
from crownless.runtime.reading import read_text

from .computation import Computation, Event, Message, text_of

KEYWORDS = ("send", "to", "receive", "from")
_NAME = re.compile(r"\w(?:[\w-]|\.(?=\w))*")  # a dot only between two others: `x...` is `x`, then `...`
_WORD = re.compile(rf"(?P<space>\s*)(?P<word>{_NAME.pattern}|\.\.\.|\S|$)")


@dataclass(frozen=True, kw_only=True)
class _Placed:
    """A position in a text, counted from 1; not part of the meaning."""

    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)


@dataclass(frozen=True)
class SendStatement(_Placed):
    """`send M to P, Q`: one message, and its receivers in the order written."""

    message: str
    receivers: tuple[str, ...]

    def __str__(self) -> str:
        return f"send {self.message} to {', '.join(self.receivers)}"


@dataclass(frozen=True)
class ReceiveStatement(_Placed):
    """`receive M from P`: the message and the sender that it waits for; None for any."""

    message: str | None = None
    sender: str | None = None

    def __str__(self) -> str:
        words = ("receive", self.message, self.sender and f"from {self.sender}")
        return " ".join(word for word in words if word)


@dataclass(frozen=True)
class Activity(_Placed):
    """`...`: something internal, neither a send nor a receive; `mark` is how the text writes it."""

    mark: str = "..."

    def __str__(self) -> str:
        return self.mark


Statement = SendStatement | ReceiveStatement | Activity


@dataclass(frozen=True)
class Line(_Placed):
    """One line of a text; `process` is None if it is blank or only a comment.

    `separators` says what follows each statement: `;` or nothing, and then a space or none.
    """

    process: str | None
    statements: tuple[Statement, ...]
    separators: tuple[str, ...]
    comment: str

    def __repr__(self) -> str:
        return in_brackets(self.print())

    def print(self) -> str:
        name = f"{self.process}:" if self.process else ""
        body = "".join(f"{part}{after}" for part, after in zip(self.statements, self.separators, strict=True))
        return " ".join(part for part in (name, body, self.comment) if part)


@dataclass(frozen=True)
class Script:
    """A program or a computation as written; made, and checked, by `parse` and `of_computation`."""

    lines: tuple[Line, ...]
    file: str | None = field(default=None, compare=False)
    #: Its name in reports, or None.
    name: str | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        text = " | ".join(line.print() for line in self.lines if line.process)
        return in_brackets(f"{self.name}: {text}" if self.name else text)

    def __str__(self) -> str:
        return self.print()

    @property
    def processes(self) -> tuple[str, ...]:
        """The processes in the order of their lines."""
        return tuple(line.process for line in self.lines if line.process)

    @property
    def statements(self) -> tuple[tuple[Statement, ...], ...]:
        """The statements of each process."""
        return tuple(line.statements for line in self.lines if line.process)

    def walk(self) -> Iterator[tuple[str, Statement]]:
        """Every statement with its process, line after line."""
        return ((line.process, part) for line in self.lines if line.process for part in line.statements)

    @property
    def names_receives(self) -> bool:
        """True if every receive names its message, as in a computation; a program leaves that open."""
        return all(part.message is not None for _, part in self.walk() if isinstance(part, ReceiveStatement))

    def print(self) -> str:
        """The text again, with single spaces."""
        return "\n".join(line.print() for line in self.lines)

    def bad(self, place: _Placed, message: str, hint: str) -> BadInput:
        return BadInput(message, hint=hint, file=self.file, line=place.line, column=place.column)


def parse(text: str, file: str | None = None) -> Script:
    """The script in a text; raises `BadInput`, with `file` as the name in errors."""
    if not isinstance(text, str):
        raise BadInput(f"{shown(text)} is not a string", hint="such as 'P1: send x to P2'")
    lines = (_Reader(line, number, file).read_line() for number, line in enumerate(text.split("\n"), start=1))
    script = Script(tuple(lines), file)
    _check_processes(script)
    _check_messages(script)
    return script


def load(path: Path) -> Script:
    """The script in a file of UTF-8 text."""
    return parse(read_text(path, str(path)), str(path))


def to_computation(script: Script) -> Computation:
    """The computation of a script. Messages are numbered in the order of their sends, line after line."""
    for process, part in script.walk():
        if isinstance(part, ReceiveStatement) and part.message is None:
            message = f"{process} does not say which message it receives"
            raise script.bad(part, message, "name the message: 'receive x'")
    if cycle := _cycle(script):
        events = [f"{process} {str(part).split()[0]}s {part.message}" for process, part in [*cycle, cycle[0]]]
        hint = "no message can be received before it is sent"
        raise script.bad(cycle[0][1], f"the computation is cyclic: {' → '.join(events)}", hint)
    process_number = {process: p for p, process in enumerate(script.processes)}
    messages = tuple(
        Message(part.message, process_number[process], tuple(sorted(process_number[name] for name in part.receivers)))
        for process, part in script.walk()
        if isinstance(part, SendStatement)
    )
    message_number = {message.name: m for m, message in enumerate(messages)}

    def event(part: Statement) -> Event:
        if isinstance(part, Activity) or part.message is None:
            return Event("internal", None)
        return Event("send" if isinstance(part, SendStatement) else "receive", message_number[part.message])

    return Computation(script.processes, messages, tuple(tuple(map(event, parts)) for parts in script.statements))


def of_computation(c: Computation) -> Script:
    """The script of a computation; raises `BadInput` if the notation cannot write one of its names."""
    for name in (*c.processes, *(message.name for message in c.messages)):
        if not _is_name(name):
            hint = f"a name is letters, digits, '_', '-' and '.', and none of {', '.join(KEYWORDS)}"
            raise BadInput(f"the notation cannot write the name {name!r}", hint=hint)
    return parse(text_of(c))


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and text not in KEYWORDS


class _Reader:
    """Recursive descent through the words of one line; `word` is the next one, empty at the end of the line."""

    def __init__(self, text: str, line: int, file: str | None) -> None:
        code, mark, comment = text.partition("#")
        self.line, self.file, self.comment = line, file, (mark + comment).rstrip()
        self.words = _WORD.finditer(code.rstrip())
        self.advance()

    def advance(self) -> None:
        found = next(self.words)
        self.word, self.column, self.spaced = found["word"], found.start("word") + 1, bool(found["space"])

    def read_line(self) -> Line:
        process, column = None, self.column
        parts: list[Statement] = []
        separators: list[str] = []
        if self.word:
            process = self.read_name("a process name", "a line is for one process: 'P1: send x to P2; receive'")
            self.read(self.word == ":", f"':' after '{process}'", f"write '{process}:' and then its statements")
        while self.word:
            parts.append(self.read_statement())
            separators.append(self.read_separator(optional=isinstance(parts[-1], Activity)))
        return Line(process, tuple(parts), tuple(separators), self.comment, line=self.line, column=column)

    def read_statement(self) -> Statement:
        word, column = self.word, self.column
        if word not in ("send", "receive", "...", "…"):
            nearest = get_close_matches(word, ("send", "receive"), n=1)
            hint = f"did you mean '{nearest[0]}'?" if nearest else "write 'send x to P2', 'receive' or '...'"
            raise self.unexpected("'send', 'receive' or '...'", hint)
        self.advance()
        if word == "send":
            return SendStatement(*self.read_message_and_receivers(), line=self.line, column=column)
        if word == "receive":
            return ReceiveStatement(*self.read_message_and_sender(), line=self.line, column=column)
        return Activity(word, line=self.line, column=column)

    def read_message_and_receivers(self) -> tuple[str, tuple[str, ...]]:
        message = self.read_name("a message name", "write 'send x to P2'")
        hint = f"write 'send {message} to P2'"
        if self.word not in (";", ""):
            self.read(self.word == "to", f"'to' after 'send {message}'", hint)
        if self.word in (";", ""):
            raise self.bad(f"{message} has no receiver", f"name a receiver: 'send {message} to P2'")
        receivers = [self.read_name("a process name", hint)]
        while self.word == ",":
            self.advance()
            receivers.append(self.read_name("a process name after ','", f"write 'send {message} to P2, P3'"))
        return message, tuple(receivers)

    def read_message_and_sender(self) -> tuple[str | None, str | None]:
        message = self.take() if _is_name(self.word) else None
        if self.word != "from":
            return message, None
        self.advance()
        return message, self.read_name("a process name after 'from'", "write 'receive from P1'")

    def read_separator(self, *, optional: bool) -> str:
        mark = self.take() if self.word == ";" else ""
        if self.word and not mark and not optional:
            raise self.unexpected("';' or the end of the line", "put ';' between statements, and ',' between receivers")
        return mark + (" " if self.spaced else "")

    def read_name(self, expected: str, hint: str) -> str:
        return self.read(_is_name(self.word), expected, hint)

    def read(self, acceptable: bool, expected: str, hint: str) -> str:
        if not acceptable:
            raise self.unexpected(expected, hint)
        return self.take()

    def take(self) -> str:
        word = self.word
        self.advance()
        return word

    def unexpected(self, expected: str, hint: str) -> BadInput:
        found = repr(self.word) if self.word else "the end of the line"
        if self.word in KEYWORDS:
            found = f"the keyword {found}"
        return self.bad(f"expected {expected}, found {found}", hint)

    def bad(self, message: str, hint: str) -> BadInput:
        return BadInput(message, hint=hint, file=self.file, line=self.line, column=self.column)


def _check_processes(script: Script) -> None:
    """Each process has one line, and statements name no others."""
    lines: dict[str, Line] = {}
    for line in script.lines:
        if line.process in lines:
            hint = f"line {lines[line.process].line} is the first: join them"
            raise script.bad(line, f"{line.process} has two lines", hint)
        if line.process:
            lines[line.process] = line
    if not lines:
        hint = "write one line a process: 'P1: send x to P2'"
        raise BadInput("the text names no process", hint=hint, file=script.file)
    for _, part in script.walk():
        receivers = part.receivers if isinstance(part, SendStatement) else ()
        sender = part.sender if isinstance(part, ReceiveStatement) else None
        for name in (*receivers, sender):
            if name and name not in lines:
                error = unknown_name("process", name, lines)
                hint = f"{error.hint}; a process that does nothing has a line, too: '{name}:'"
                raise script.bad(part, error.message, hint)
            if receivers.count(name) > 1:
                raise script.bad(part, f"'{part}' names {name} twice", "name each receiver once")


def _check_messages(script: Script) -> None:
    """Each message is sent once, and received at most once by each of its receivers, from its sender."""
    sends: dict[str, tuple[str, SendStatement]] = {}
    for process, part in script.walk():
        if isinstance(part, SendStatement):
            if part.message in sends:
                hint = f"the first is in line {sends[part.message][1].line}: give each message its own name"
                raise script.bad(part, f"{part.message} is sent twice", hint)
            sends[part.message] = process, part
    received: set[tuple[str, str]] = set()
    for process, part in script.walk():
        if not isinstance(part, ReceiveStatement) or part.message is None:
            continue
        receives = f"{process} receives {part.message}"
        if part.message not in sends:
            hint = f"add 'send {part.message} to {process}' to its sender's line, or drop this receive"
            raise script.bad(part, f"{receives}, which is never sent", hint)
        sender, send = sends[part.message]
        if process not in send.receivers:
            hint = f"line {send.line} says '{send}'"
            raise script.bad(part, f"{receives}, which is not sent to it", hint)
        if part.sender not in (None, sender):
            hint = f"write 'receive {part.message} from {sender}'"
            raise script.bad(part, f"{receives} from {part.sender}, but {sender} sends it", hint)
        if (process, part.message) in received:
            raise script.bad(part, f"{receives} twice", "drop one of the two receives")
        received.add((process, part.message))


def _cycle(script: Script) -> list[tuple[str, SendStatement | ReceiveStatement]]:
    """A cycle of events, starting with a receive, each of which must happen before the next; or none."""
    events = [(process, part) for process, part in script.walk() if not isinstance(part, Activity)]
    sends = {part.message: (process, part) for process, part in events if isinstance(part, SendStatement)}
    sorter: TopologicalSorter[tuple[str, SendStatement | ReceiveStatement]] = TopologicalSorter()
    for before, after in pairwise(events):
        if before[0] == after[0]:
            sorter.add(after, before)
    for process, part in events:
        if isinstance(part, ReceiveStatement) and part.message:
            sorter.add((process, part), sends[part.message])
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = error.args[1][:-1]
        first = next(k for k, (_, part) in enumerate(cycle) if isinstance(part, ReceiveStatement))
        return [*cycle[first:], *cycle[:first]]
    return []
