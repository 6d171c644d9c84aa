"""Traces of Apalache and Quint in the Informal Trace Format (ITF), with at most one event of a process per state.

The step to a state is an event if the state says so: its variable `event` is a record with the fields `process`,
`kind`, `message` and `peer`, or a variant such as `Send({process: …})`, whose lower-case tag is the kind. States
without such a variable, or where it is null, the empty tuple, or of the kind `none`, are not events.
Fields that the record lacks may be variables of their own; `--column message=net.last.id` says where one is, from the
variable on.

The events of a process happen in the order of the trace; its order across processes has no meaning, as with the lines
of any log. A trace is one run. `peer` may be a set, a list or a tuple of processes. A send may lack it: its receivers
are then the processes that deliver the message. Values other than texts are named as TLA+ writes them. Events have the
numbers of their states, from 1.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name, some
from crownless.runtime.reading import decode_json

from .converted import ConvertedLog
from .formats import LogOptions
from .reasons import KINDS, unknown_kind
from .rows import Row
from .uncertain import all_but

EVENT = "event"
#: The kind of a step that is not an event.
NONE = "none"
LASSO = "the trace never ends, and only its first pass was judged"
_HINT = "give a trace in ITF, as apalache-mc and quint write it: one JSON object with 'vars' and 'states'"
_UNCHANGED = f"a step that is no event of a process must have '{EVENT}' of the kind '{NONE}', not leave it unchanged"
_FIELDS = ("process", "kind", "message", "peer")


class _Trace(msgspec.Struct):
    states: list[dict[str, Any]]
    loop: int | None = None


def read(content: bytes, name: str, options: LogOptions) -> ConvertedLog:
    """The log in this content; raises `BadInput`."""
    if unused := [column for column in options.columns if column not in _FIELDS]:
        hint = f"name one of {', '.join(_FIELDS)}: a trace is one run and numbers its own states"
        raise BadInput(f"--column {unused[0]} cannot be combined with --format itf", hint=hint)
    trace = decode_json(content, _Trace, file=name, hint=_HINT)
    index, rows = Counter[str](), list[Row]()
    before: _Event | None = None
    for number, state in enumerate(trace.states, 1):
        try:
            event = _event(state, options)
            if options.complete and event is not None and event == before and event[1] == "deliver":
                raise BadInput(f"{event[0]} delivers {event[2]} here and in the previous state", hint=_UNCHANGED)
        except BadInput as problem:
            raise BadInput(f"state {number}: {problem.message}", hint=problem.hint) from None
        before = event
        if event is not None:
            process, kind, message, peers = event
            rows.append(Row(number, "", process, index[process], kind, message, peers))
            index[process] += 1
    if not rows:
        hint = f"have a variable '{EVENT}' with process, kind, message and peer, or name their places with --column"
        raise BadInput(f"none of {len(trace.states):,} states records the event that led to it", hint=hint)
    if options.complete and trace.loop is not None:
        raise BadInput(f"--complete: {LASSO}", hint="leave --complete out, or give a trace that ends")
    log = ConvertedLog()
    log.add("", rows, _UNCHANGED, complete=options.complete, by="state")
    if silent := len(trace.states) - len(rows):
        log.note("", f"{some(silent, 'state')} of {len(trace.states):,} without an event, as the first one")
    if trace.loop is not None:
        log.doubt("", all_but([], LASSO))
        log.note("", f"{LASSO}: it returns to an earlier state")
    return log


_Event = tuple[str, str, str, tuple[str, ...]]


def _event(state: Mapping[str, Any], options: LogOptions) -> _Event | None:
    """The process, kind, message and peers of the event that led to a state; None if none did."""
    record, columns = state.get(EVENT), options.columns
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    if isinstance(fields.get("tag"), str) and set(fields) <= {"tag", "value"}:
        value = fields.get("value")
        fields = {"kind": fields["tag"].lower(), **(value if isinstance(value, dict) else {})}
    found = {
        name: _at(state, columns[name]) if name in columns else fields.get(name, state.get(name)) for name in _FIELDS
    }
    kind = found["kind"]
    kind = options.kinds.get(kind, kind) if isinstance(kind, str) else kind
    if kind is None or kind == NONE or _is_unit(kind):
        if kind is None and _is_name(found["process"]) and _is_name(found["message"]):
            raise BadInput("an event has no 'kind'", hint=f"one of {', '.join(KINDS)}")
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        unknown = unknown_kind(_text(kind))
        raise BadInput(unknown.text, hint=unknown.hint)
    kind = "deliver" if kind == "receive" else kind
    process = _name(found["process"], "process")
    if kind == "internal":
        return process, kind, "", ()
    message, peer = _name(found["message"], "message"), found["peer"]
    several = _members(peer)
    if several is None:
        return process, kind, message, () if peer is None or _is_unit(peer) else (_name(peer, "peer"),)
    if kind == "deliver":
        raise BadInput("the 'peer' of a deliver is not a process", hint="name the sender, or leave it out")
    return process, kind, message, tuple(_name(one, "peer") for one in several)


def _at(state: Mapping[str, Any], path: str) -> Any:
    """The value at that path, within a variable; None if there is none."""
    value: Any = state
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _is_unit(value: Any) -> bool:
    return value == {"#tup": []} or (isinstance(value, dict) and value.get("tag") == "UNIT")


def _is_name(value: Any) -> bool:
    return value is not None and not _is_unit(value) and value not in ("", NONE)


def _members(value: Any) -> list[Any] | None:
    """The members of a non-empty set, list or tuple; otherwise None."""
    if isinstance(value, dict) and not _is_unit(value):
        value = value.get("#set", value.get("#tup"))
    return value if isinstance(value, list) else None


def _name(value: Any, what: str) -> str:
    try:
        text = "" if value is None or _is_unit(value) else _text(value)
    except RecursionError:
        raise BadInput("a value is nested too deeply for a name", hint="name messages by strings or numbers") from None
    if not text or not text.isprintable():
        problem = f"the '{what}' of an event is {'not a printable name' if text else 'missing'}"
        raise BadInput(problem, hint="give a string or a number, or name its place with --column")
    return text


def _text(value: Any, *, inner: bool = False) -> str:
    """A value as TLA+ writes it; a text by itself has no quotes."""
    match value:
        case str():
            return f'"{value}"' if inner else value
        case bool():
            return str(value).upper()
        case int() | {"#bigint": str()}:
            return str(value if isinstance(value, int) else value["#bigint"])
        case list() | {"#tup": list()}:
            parts = value if isinstance(value, list) else value["#tup"]
            return f"<<{', '.join(_text(part, inner=True) for part in parts)}>>"
        case {"#set": list(parts)}:
            return f"{{{', '.join(sorted(_text(part, inner=True) for part in parts))}}}"
        case dict() if not any(key.startswith("#") for key in value):
            return f"[{', '.join(f'{key} |-> {_text(part, inner=True)}' for key, part in sorted(value.items()))}]"
    hint = "name messages and processes by strings, numbers, tuples, sets or records"
    raise BadInput(f"a value cannot be a name: {printable_name(str(value))}", hint=hint)
