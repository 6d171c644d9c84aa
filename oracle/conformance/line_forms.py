"""The forms of the line protocol between crownless and node programs, on standard input and output.

These two are equivalent; Maelstrom's is in `maelstrom_form`. In the plain form a line is words, the last of which may
be the rest of the line; in the JSON form it is an object whose `type` is the first word.

    in:   init ID N          {"type": "init", "id": 0, "n": 3}            starts anew; the node forgets everything
          send TO MESSAGE    {"type": "send", "to": 1, "message": "1-2.1"} the application sends
          reply TO MESSAGE   {"type": "reply", …}                         … will send from inside the next delivery;
                                                                          only to a node that takes replies
          packet FROM BODY   {"type": "packet", "from": 0, "body": …}     a packet has come
          tick               {"type": "tick"}                             time passes
          restart            {"type": "restart"}                          the node crashed, and starts again
    out:  packet TO BODY     {"type": "packet", "to": 1, "body": …}       transmits a packet
          deliver MESSAGE    {"type": "deliver", "message": "1-2.1"}      delivers to the application
          queued MESSAGE     {"type": "queued", …}                        takes a message that is not sent yet
          sent MESSAGE       {"type": "sent", …}                          a queued message is sent now
          ok                 {"type": "ok"}                               the end of each answer
          ok replies         {"type": "ok", "replies": true}              to `init`: it takes replies

A message to several processes has `1,2` or `[1, 2]` for TO.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from re import Pattern
from typing import Any, NamedTuple

from crownless.runtime.printable import shown
from crownless.spec.computation import Message

from .bodies import text_body
from .node import Arrival, Delivers, Input, NodeFailure, Output, Queues, Restart, Send, Sends, Transmits, name_for_nodes


class End(NamedTuple):
    """The end of an answer. `replies`: the node says that it takes replies."""

    replies: bool = False


#: Outputs with a message name, by the first word of their line.
_OF_MESSAGES: dict[str, Callable[[str], Output]] = {"deliver": Delivers, "queued": Queues, "sent": Sends}
_WORDS = "packet, deliver, queued, sent or ok"


class Form(ABC):
    """How inputs are written, and outputs are read."""

    #: Whether `init` makes a running node forget everything; if not, a new one is started.
    resets = True
    #: What ends an answer, and the whole answer to `init`, in words.
    end = "each answer ends in 'ok'"
    begins_anew = "ok"
    #: The line of an input that identifies it.
    shown = -1

    def __init__(self, ignored: Pattern[str] | None = None) -> None:
        """`ignored`: parts of packet bodies that are not compared."""
        self.ignored = ignored

    def of_one_node(self) -> "Form":
        """The form for one running node, if earlier output matters."""
        return self

    @abstractmethod
    def init(self, process: int, n: int) -> list[str]:
        """The lines by which a node starts anew."""

    @abstractmethod
    def given(self, given: Input) -> list[str]:
        """The lines of an input."""

    @abstractmethod
    def outputs(self, line: str) -> Sequence[Output | End]:
        """The outputs in a line, or the end of the answer; raises `NodeFailure` for any other line."""

    def understands(self, line: str) -> bool:
        """True if a line is an output, or the end of an answer."""
        try:
            return bool(self.outputs(line))
        except NodeFailure:
            return False


class PlainForm(Form):
    """Words; the body of a packet is the rest of its line."""

    def init(self, process: int, n: int) -> list[str]:
        return [f"init {process} {n}"]

    def given(self, given: Input) -> list[str]:
        lines = [] if given.reply is None else [f"reply {_to(given.reply)} {name_for_nodes(given.reply)}"]
        if isinstance(given, Send):
            lines.append(f"send {_to(given.message)} {name_for_nodes(given.message)}")
        elif isinstance(given, Arrival):
            lines.append(f"packet {given.source} {given.body}")
        else:
            lines.append(_word(given))
        return lines

    def outputs(self, line: str) -> Sequence[Output | End]:
        word, _, rest = line.partition(" ")
        if word == "packet":
            to, _, body = rest.partition(" ")
            if not _is_number(to):
                raise not_understood(line, "`packet` needs the number of a process: packet TO BODY")
            return [Transmits(int(to), text_body(body, self.ignored))]
        if word in _OF_MESSAGES:
            if not rest:
                raise not_understood(line, f"`{word}` needs a message: {word} MESSAGE")
            return [_OF_MESSAGES[word](rest)]
        if word == "ok":
            return [End("replies" in rest.split())]
        raise not_understood(line, f"a line begins with {_WORDS}; all else belongs on standard error")


class JsonForm(Form):
    """One object per line. The body of a packet is passed on as written, except for spaces."""

    def init(self, process: int, n: int) -> list[str]:
        return [json.dumps({"type": "init", "id": process, "n": n})]

    def given(self, given: Input) -> list[str]:
        lines = [] if given.reply is None else [_sending("reply", given.reply)]
        if isinstance(given, Send):
            lines.append(_sending("send", given.message))
        elif isinstance(given, Arrival):
            lines.append(f'"type": "packet", "from": {given.source}, "body": {given.body}')
        else:
            lines.append(f'"type": "{_word(given)}"')
        return [f"{{{line}}}" for line in lines]

    def outputs(self, line: str) -> Sequence[Output | End]:
        said = read_json(line)
        word = said.get("type") if isinstance(said, dict) else None
        if word == "packet":
            if type(said.get("to")) is not int or "body" not in said:
                raise not_understood(line, 'a packet is {"type": "packet", "to": 1, "body": …}')
            return [Transmits(said["to"], text_body(as_text(line, said["body"]), self.ignored))]
        if isinstance(word, str) and word in _OF_MESSAGES:
            if not isinstance(said.get("message"), str):
                raise not_understood(line, f'it names no message: {{"type": "{word}", "message": "1-2.1"}}')
            return [_OF_MESSAGES[word](said["message"])]
        if word == "ok":
            return [End(said.get("replies") is True)]
        raise not_understood(line, f"an object's type is {_WORDS}")


def _word(given: Input) -> str:
    return "restart" if isinstance(given, Restart) else "tick"


def _to(message: Message) -> str:
    return ",".join(map(str, message.receivers))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _sending(word: str, message: Message) -> str:
    """The inside of an object."""
    to = message.receivers[0] if len(message.receivers) == 1 else list(message.receivers)
    return json.dumps({"type": word, "to": to, "message": name_for_nodes(message)})[1:-1]


def read_json(line: str) -> Any:
    """The value of a line of JSON; raises `NodeFailure` if it is not JSON."""
    try:
        return json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise not_understood(line, f"no JSON: {error}") from None


def as_text(line: str, value: Any) -> str:
    """A part of a line's value, without spaces."""
    try:
        return json.dumps(value, separators=(",", ":"))
    except RecursionError:
        raise not_understood(line, "it is nested too deeply") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def not_understood(line: str, why: str) -> NodeFailure:
    """The failure of a node that says such a line."""
    return NodeFailure("not-understood", f"says {shown(line)}; {why}")
