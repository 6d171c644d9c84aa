"""The forms of the line protocol that the programs of nodes speak on standard input and output.

These two say the same; that of Maelstrom is in `maelstrom_form`. In the plain form a line is words, the last of which
may be the rest of the line; in the JSON form it is an object whose `type` is the first word.

    in:   init ID N          {"type": "init", "id": 0, "n": 3}            starts anew; the node forgets everything
          send TO MESSAGE    {"type": "send", "to": 1, "message": "1-2.1"} the application sends
          reply TO MESSAGE   {"type": "reply", …}                         … will send from inside the next delivery;
                                                                          only to a node that takes replies
          packet FROM BODY   {"type": "packet", "from": 0, "body": …}     a packet has come
          tick               {"type": "tick"}                             time passes
          restart            {"type": "restart"}                          the node crashed, and starts again
          load STATE         {"type": "load", "state": …}                 takes on a state that it has offered
    out:  packet TO BODY     {"type": "packet", "to": 1, "body": …}       transmits a packet
          deliver MESSAGE    {"type": "deliver", "message": "1-2.1"}      delivers to the application
          queued MESSAGE     {"type": "queued", …}                        takes a message that is not sent yet
          sent MESSAGE       {"type": "sent", …}                          a queued message is sent now
          ok                 {"type": "ok"}                               the end of each answer
          ok STATE           {"type": "ok", "state": …}                   the same, with the state of the node
          ok replies numbers {"type": "ok", "replies": true, "numbers": true}   to `init`: it takes replies; its inputs
                                                                          are to have numbers (either word alone, too)

A message to several processes has `1,2` or `[1, 2]` for TO. To a node that says `numbers` each line but `init` is given
as `7 send …` or `{"type": "send", …, "number": 7}`, and its answer ends in `ok 7 STATE` or
`{"type": "ok", "number": 7, …}`. A reply has the number of the input that it precedes.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from re import Pattern
from typing import Any, Literal, NamedTuple

from crownless.spec.computation import Message
from crownless.spec.errors import unknown_name
from crownless.spec.printable import shown

from .bodies import TextBody
from .node import Arrival, Delivers, Input, Load, NodeFailure, Output, Queues, Send, Sends, Transmits, name_for_nodes

FormName = Literal["plain", "json", "maelstrom"]
FORMS: tuple[FormName, ...] = ("plain", "json", "maelstrom")


def known_form(name: str) -> FormName:
    """The form of that name; raises `BadInput` if there is none."""
    for known in FORMS:
        if name == known:
            return known
    raise unknown_name("form of lines", name, FORMS)


#: The optional parts of the protocol that a node can announce in its answer to `init`.
REPLIES, NUMBERS = "replies", "numbers"
OPTIONAL = frozenset((REPLIES, NUMBERS))


class End(NamedTuple):
    """The end of an answer, with the state of the node if it offers it."""

    state: str | None = None
    #: The number of the input, as the node repeats it.
    number: int | None = None
    #: The optional parts of the protocol that it names.
    takes: frozenset[str] = frozenset()


class Given(NamedTuple):
    """The lines of an input, and the number that its answer must repeat."""

    lines: bytes
    number: int | None = None
    is_init: bool = False


#: Outputs that name a message, by the first word of their line.
_OF_MESSAGES: dict[str, Callable[[str], Output]] = {"deliver": Delivers, "queued": Queues, "sent": Sends}
_WORDS = ("packet", *_OF_MESSAGES, "ok")


class Form(ABC):
    """How inputs are written, and outputs are read."""

    name: FormName
    #: Does `init` make a running node forget everything? If not, a new one is started.
    resets = True
    #: Have inputs numbers that their answers repeat?
    numbers = False
    #: What ends an answer, and what is all that a node says to `init`, in words.
    end = "each answer ends in 'ok'"
    begins_anew = "ok"

    def __init__(self, ignored: Pattern[str] | None = None) -> None:
        """`ignored`: what makes no difference in the body of a packet."""
        self._ignored = ignored

    def of_one_node(self) -> Form:
        """The form as it is spoken with one running node, if it matters what that has said."""
        return self

    def shown(self, given: bytes) -> bytes:
        """Of the lines of an input that which says what it is."""
        return given.splitlines()[-1]

    @abstractmethod
    def init(self, process: int, n: int) -> bytes:
        """The lines by which a node starts anew."""

    @abstractmethod
    def given(self, given: Input, number: int | None = None) -> bytes:
        """The lines of an input, with its number if it has one."""

    def outputs(self, line: bytes) -> Sequence[Output | End]:
        """The outputs that a line says, or the end of the answer; raises `NodeFailure` if it says none of these."""
        try:
            return self._outputs(line.removesuffix(b"\r").decode())
        except UnicodeDecodeError:
            raise NodeFailure("not-understood", f"says {shown_bytes(line)}, which is no UTF-8") from None

    def _body(self, text: str) -> Hashable:
        return text if self._ignored is None else TextBody(text, self._ignored)

    @abstractmethod
    def _outputs(self, line: str) -> Sequence[Output | End]: ...


class OneByOne(Form):
    """Each line says one thing, whatever was said before."""

    def init(self, process: int, n: int) -> bytes:
        return _encoded([self._init(process, n)])

    def given(self, given: Input, number: int | None = None) -> bytes:
        lines = self._given(given)
        return _encoded(lines if number is None else [self._numbered(line, number) for line in lines])

    def _outputs(self, line: str) -> Sequence[Output | End]:
        return (self._output(line),)

    @abstractmethod
    def _init(self, process: int, n: int) -> str: ...

    @abstractmethod
    def _given(self, given: Input) -> list[str]: ...

    @abstractmethod
    def _numbered(self, line: str, number: int) -> str: ...

    @abstractmethod
    def _output(self, line: str) -> Output | End: ...


class PlainForm(OneByOne):
    """Words; the body of a packet is the rest of its line."""

    name: FormName = "plain"

    def _init(self, process: int, n: int) -> str:
        return f"init {process} {n}"

    def _given(self, given: Input) -> list[str]:
        lines = [f"reply {_to(reply)} {name_for_nodes(reply)}" for reply in given.replies]
        if isinstance(given, Load):
            return [f"load {given.state}"]
        if isinstance(given, Send):
            return [*lines, f"send {_to(given.message)} {name_for_nodes(given.message)}"]
        return [*lines, f"packet {given.source} {given.body}" if isinstance(given, Arrival) else given.name]

    def _numbered(self, line: str, number: int) -> str:
        return f"{number} {line}"

    def _output(self, line: str) -> Output | End:
        word, _, rest = line.partition(" ")
        if word == "packet":
            to, _, body = rest.partition(" ")
            if not (to.isascii() and to.isdigit() and len(to) < 10):
                raise not_understood(line, "`packet` needs the number of a process: packet TO BODY")
            return Transmits(int(to), self._body(body))
        if word in _OF_MESSAGES:
            if not rest:
                raise not_understood(line, f"`{word}` needs a message: {word} MESSAGE")
            return _OF_MESSAGES[word](rest)
        if word == "ok":
            first, _, state = rest.partition(" ")
            if self.numbers and first.isascii() and first.isdigit() and len(first) < 10:
                return End(state or None, int(first))
            words = frozenset(rest.split())
            return End(rest or None, takes=words if words <= OPTIONAL else frozenset())
        raise not_understood(line, f"a line begins with {', '.join(_WORDS[:-1])} or {_WORDS[-1]}")


class JsonForm(OneByOne):
    """An object a line. The body of a packet is given on as it was written, but for spaces."""

    name: FormName = "json"

    def _init(self, process: int, n: int) -> str:
        return json.dumps({"type": "init", "id": process, "n": n})

    def _given(self, given: Input) -> list[str]:
        if isinstance(given, Load):
            return [f'{{"type": "load", "state": {given.state}}}']
        lines = [json.dumps(_sending("reply", reply)) for reply in given.replies]
        if isinstance(given, Send):
            return [*lines, json.dumps(_sending("send", given.message))]
        if isinstance(given, Arrival):
            return [*lines, f'{{"type": "packet", "from": {given.source}, "body": {given.body}}}']
        return [*lines, json.dumps({"type": given.name})]

    def _numbered(self, line: str, number: int) -> str:
        return f'{line[:-1]}, "number": {number}}}'

    def _output(self, line: str) -> Output | End:
        try:
            said = json.loads(line, parse_constant=no_constant)
        except (ValueError, RecursionError) as error:
            raise not_understood(line, f"no JSON: {error}") from None
        word = said.get("type") if isinstance(said, dict) else None
        if word == "packet":
            if type(said.get("to")) is not int or "body" not in said:
                raise not_understood(line, 'a packet is {"type": "packet", "to": 1, "body": …}')
            return Transmits(said["to"], self._body(as_text(line, said["body"])))
        if isinstance(word, str) and word in _OF_MESSAGES:
            if not isinstance(said.get("message"), str):
                raise not_understood(line, f'it names no message: {{"type": "{word}", "message": "1-2.1"}}')
            return _OF_MESSAGES[word](said["message"])
        if word == "ok":
            state = None if said.get("state") is None else as_text(line, said["state"])
            number = said["number"] if type(said.get("number")) is int else None
            return End(state, number, frozenset(word for word in OPTIONAL if said.get(word) is True))
        raise not_understood(line, f"an object's type is {', '.join(_WORDS[:-1])} or {_WORDS[-1]}")


def _to(message: Message) -> str:
    return ",".join(map(str, message.receivers))


def _sending(word: str, message: Message) -> dict[str, Any]:
    to = message.receivers[0] if len(message.receivers) == 1 else list(message.receivers)
    return {"type": word, "to": to, "message": name_for_nodes(message)}


def as_text(line: str, value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"))
    except RecursionError:
        raise not_understood(line, "it is nested too deeply") from None


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _encoded(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def shown_bytes(line: bytes) -> str:
    """Bytes as text in quotes where they are text, shortened if there are many."""
    try:
        return shown(line.decode())
    except UnicodeDecodeError:
        return shown(line)


def not_understood(line: str, why: str) -> NodeFailure:
    return NodeFailure("not-understood", f"says {shown(line)}; {why}")
