"""One line of a log read as an event."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from crownless.runtime.ending import look
from crownless.runtime.errors import BadInput, nearest
from crownless.runtime.reading import as_text

from . import reasons
from .formats import LogOptions
from .reasons import KINDS, UnusableRow
from .rows import COLUMNS, Row, is_name

#: Between the values of columns that together make up a name.
JOINED_BY = "-"
MEANING = {
    "process": "the name of the event's process, a string",
    "index": "the event's number on its process, an integer counted from 0, or a timestamp by --order-by",
    "kind": "one of " + ", ".join(KINDS),
    "message": "the message's name, a string or an integer, or add --match if the log has none",
    "run": "the run's name, a string or an integer",
}
RECEIVERS = "the receiver, a string, or a list of receivers; if no send names one: --column peer=-"
PARTS = "the parts of a name as strings or integers"
SENDER = "the sender, a string, or leave it out"
#: The same for logs without message names.
PAYLOAD = "the payload, a string or an integer, or leave it out"
SENDER_OF_UNNAMED = "the sender, a string, since messages have no names"
#: Lines that are read between two checks of signals and limits.
LOOKS_EVERY = 1 << 10


def text_of_lines(content: bytes, file: str, options: LogOptions) -> str:
    """The text of a log; raises `BadInput` if it is not UTF-8. With a quarantine such bytes become escapes that no JSON
    has, since a line that was cut off may end within a character.
    """
    return as_text(content, file) if options.quarantine is None else content.decode("utf-8-sig", "backslashreplace")


def rows_of_lines(
    lines: Iterable[str],
    file: str | None = None,
    options: LogOptions | None = None,
    first: int = 1,
    values: list[str | None] | None = None,
) -> Iterator[Row]:
    """The events in lines of JSON, the first with this number; raises `BadInput` with the file and the line.

    `values` gets the value of each event by which the options order them; their indices are then 0.
    """
    quarantine = options.quarantine if options else None
    translated = options is not None and bool(options.columns or options.kinds or options.order_by)
    parts = options.parts if options is not None else {}
    by = options.order_by or "index" if options is not None else "index"
    for number, text in enumerate(lines, first):
        if number % LOOKS_EVERY == 0:
            look()
        if not text.strip():
            continue
        fields: dict[str, Any] = {}
        try:
            fields = theirs = fields_of(text, exactly=values is not None)
            if options is not None and translated:
                fields = our_fields(theirs, parts, options.kinds)
            value = fields.get("index")
            if values is not None:
                if isinstance(value, bool | list | dict):
                    raise _unusable(by, value, reasons.ORDERING)
                fields["index"] = 0
            row = row_of(number, fields, options, theirs)
        except BadInput as problem:
            if quarantine is None:
                raise problem.at(file=file, line=number) from None
            quarantine.add(number, fields, reasons.reason_of(problem))
            continue
        if values is not None:
            values.append(None if value is None else str(value))
        yield row


def our_fields(
    fields: Mapping[str, Any], parts: Mapping[str, Sequence[str]], kinds: Mapping[str, str]
) -> dict[str, Any]:
    """The fields of an event by our names of columns and kinds, given the names of the file and its fields.

    Raises `UnusableRow` for a name that is made of other values than strings and integers.
    """
    ours: dict[str, Any] = {}
    for name, theirs in parts.items():
        found = [fields.get(part) for part in theirs]
        for part in found if len(found) > 1 else ():
            if part is not None and type(part) not in (str, int):
                raise _unusable(name, part, PARTS)
        ours[name] = found[0] if len(found) == 1 else None if None in found else JOINED_BY.join(map(str, found))
    if isinstance(kind := ours.get("kind"), str):
        ours["kind"] = kinds.get(kind, kind)
    return ours


def read_row(line: int, text: str) -> Row:
    """The event in a line of JSON, which has this number; raises `UnusableRow`."""
    return row_of(line, fields_of(text))


def fields_of(text: str | bytes, *, exactly: bool = False) -> dict[str, Any]:
    """The fields of the object in a line of JSON; raises `UnusableRow`. `exactly`: decimals are `Decimal`."""
    try:
        fields = json.loads(text, parse_float=Decimal) if exactly else json.loads(text)
    except json.JSONDecodeError as problem:
        raise UnusableRow(reasons.NotJson(problem.msg), column=problem.colno) from None
    except (ValueError, RecursionError):
        raise UnusableRow(reasons.NotJson("a number is too long, or the nesting too deep")) from None
    if not isinstance(fields, dict):
        raise UnusableRow(reasons.NotAnObject(in_words(fields)))
    return fields


def row_of(
    line: int, fields: Mapping[str, object], options: LogOptions | None = None, has: Iterable[str] | None = None
) -> Row:
    """The event with these fields, on the line of this number; raises `UnusableRow`.

    If messages are unnamed, `message` is a payload, which may be left out, and a deliver must name its sender. `has`:
    the names of the columns in the file.
    """
    named, receivers = (not options.unnamed, options.names_receivers) if options is not None else (True, True)
    has = fields if has is None else has
    if fields.get("process") is None or fields.get("index") is None or fields.get("kind") is None:
        _refuse_missing(["process", "index", "kind"], fields, has, options, *["message"] * named, *["peer"] * receivers)
    process = _name(fields, "process")
    index = fields.get("index")
    if type(index) is not int:
        raise _unusable("index", index)
    if not 0 <= index <= reasons.MAX_INDEX:
        raise UnusableRow(reasons.NegativeIndex(index) if index < 0 else reasons.LargeIndex())
    kind = _name(fields, "kind")
    if kind not in KINDS:
        raise UnusableRow(reasons.unknown_kind(kind))
    run = "" if fields.get("run") in (None, "") else _name(fields, "run", integers=True)
    if kind == "internal":
        return Row(line, run, process, index, kind)
    if named:
        _refuse_missing(["message"], fields, has, options)
        message = _name(fields, "message", integers=True)
    elif fields.get("message") is None:
        message = ""
    else:
        message = _name(fields, "message", integers=True, meaning=PAYLOAD)
    if kind == "send":
        if receivers:
            _refuse_missing(["peer"], fields, has, options)
        to = _receivers(process, message, fields.get("peer")) if receivers else ()
        return Row(line, run, process, index, kind, message, to)
    sender = fields.get("peer")
    if not is_name(sender) and (sender is not None or not named):
        raise _unusable("peer", sender, SENDER if named else SENDER_OF_UNNAMED)
    return Row(line, run, process, index, "deliver", message, () if sender is None else (sender,))


def _refuse_missing(
    names: list[str], fields: Mapping[str, object], has: Iterable[str], options: LogOptions | None, *others: str
) -> None:
    """Raises `UnusableRow` if several of these fields are missing, or one for which the file has a similar column.

    `others`: fields that are then named too, if they are missing.
    """
    missing = [name for name in names if fields.get(name) is None]
    used = [*COLUMNS, *(options.theirs if missing and options is not None else ())]
    if len(missing) > 1 or (missing and nearest(missing[0], [name for name in has if name not in used])):
        missing += [name for name in others if fields.get(name) is None]
        raise UnusableRow(reasons.MissingFields(*reasons.missing_columns(missing, list(has), used)))


def process_of(text: str) -> str | None:
    """The process named in a line that is otherwise unusable; None if there is no name."""
    process = (object_in(text) or {}).get("process")
    return process if is_name(process) else None


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a line; None for anything else."""
    try:
        return fields_of(text)
    except UnusableRow:
        return None


def _receivers(process: str, message: str, peer: object) -> tuple[str, ...]:
    receivers = peer if isinstance(peer, list) else [peer]
    called = message or "a message"
    if not receivers:
        raise UnusableRow(reasons.NoReceiver(process, called))
    for k, receiver in enumerate(receivers):
        if not is_name(receiver):
            raise _unusable("peer", receiver, RECEIVERS)
        if receiver in receivers[:k]:
            raise UnusableRow(reasons.ReceiverTwice(process, called, receiver))
    return tuple(receivers)


def _name(fields: Mapping[str, object], key: str, integers: bool = False, meaning: str = "") -> str:
    value = fields.get(key)
    if is_name(value) or (integers and type(value) is int):
        return str(value)
    raise _unusable(key, value, meaning)


def _unusable(key: str, value: object, meaning: str = "") -> UnusableRow:
    meaning = meaning or MEANING[key]
    text = value if isinstance(value, str) else ""
    hidden = next((character for character in text if not character.isprintable()), None)
    if hidden is not None:
        meaning = f"{meaning}; no name holds {json.dumps(hidden)}, which does not show"
    return UnusableRow(
        reasons.MissingField(key, meaning) if value is None else reasons.BadField(key, in_words(value), meaning)
    )


def in_words(value: object) -> str:
    """A value in an error: as JSON, if it is short."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value, default=float)
    return text if len(text) <= 40 else text[:39] + "…"
