"""Traces of Apalache and Quint in the Informal Trace Format (ITF): an event of a process a state.

The step to a state is an event if the state says so: its variable `event` is a record with the fields `process`,
`kind`, `message` and `peer`, or a variant such as `Send({process: …})`, whose tag in small letters is the kind. States
without such a variable, or where it is null, the empty tuple, or of the kind `none`, are steps of something else.
Fields that the record lacks may be variables of their own; `--column message=net.last.id` says where one is, from the
variable on.

The events of a process happen in the order of the trace; that the trace orders events of several processes too says
nothing, as with the lines of any log. A trace is one run. `peer` may be a set, a list or a tuple of processes. At a
send it may be missing: then those that deliver the message are its receivers. Values that are no texts are named as
TLA+ writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name, some
from crownless.spec.reading import as_text

from .converted import ConvertedLog, few, once_each, with_receivers
from .json_places import lines_of_objects, values_in
from .reasons import KINDS, unknown_kind
from .rows import Row
from .uncertain import Uncertain, all_but

EVENT = "event"
#: A kind that is no event.
NONE = "none"
TO_NOBODY = "a message without a receiver is not delivered in the trace"
LASSO = "the trace never ends, and only its first pass was judged"
_WHAT = "a trace in ITF, as apalache-mc and quint write it: one JSON object with 'vars' and 'states'"
_UNCHANGED = f"a step that is no event of a process must have '{EVENT}' of the kind '{NONE}', not leave it unchanged"
_FIELDS = ("process", "kind", "message", "peer")
_DEEPEST = 50


def read_itf(
    content: bytes, name: str, columns: Mapping[str, str], kinds: Mapping[str, str], complete: bool = False
) -> ConvertedLog:
    """The log in this content; raises `BadInput`. `complete`: as of `convert`."""
    if unused := [column for column in columns if column not in _FIELDS]:
        hint = f"name one of {', '.join(_FIELDS)}: a trace is one run, and numbers its states"
        raise BadInput(f"--column {unused[0]} does not go with --format itf", hint=hint)
    text = as_text(content, name)
    if not text.strip():
        raise BadInput("the trace is empty", hint=f"give {_WHAT}")
    values = values_in(text, _WHAT)
    trace = values[0]
    if len(values) != 1 or not isinstance(trace, dict):
        raise BadInput("this is not one trace in ITF", hint=f"give {_WHAT}")
    states = trace.get("states")
    if not isinstance(states, list) or not all(isinstance(state, dict) for state in states):
        raise BadInput("the trace has no list 'states'", hint=f"give {_WHAT}")
    places = [*lines_of_objects(text, ("states",))]
    if len(places) < len(states):
        raise BadInput("a key comes twice in one object", hint="give each key once")
    log = ConvertedLog([])
    index: dict[str, int] = {}
    rows: list[Row] = []
    silent, before = 0, None
    for line, state in zip(places, states, strict=False):
        event = _event(state, columns, kinds, line)
        if complete and event is not None and event == before and event[1] == "deliver":
            problem = f"{event[0]} delivers {event[2]} in two states, one after the other"
            raise BadInput(problem, hint=_UNCHANGED, line=line)
        before = event
        if event is None:
            silent += 1
            continue
        process, kind, message, peers = event
        rows.append(Row(line, "", process, index.setdefault(process, 0), kind, message, peers))
        index[process] += 1
    if not rows:
        hint = f"have a variable '{EVENT}' with process, kind, message and peer, or say by --column where they are"
        raise BadInput(f"no state of {len(states):,} says which event led to it", hint=hint)
    if complete and trace.get("loop") is not None:
        raise BadInput(f"--complete: {LASSO}", hint="leave --complete out, or give a trace that ends")
    once_each(rows, _UNCHANGED, ("send",) if complete else ("send", "deliver"))
    log.events, log.to_nobody = with_receivers(rows)
    reasons: dict[str, str] = {}
    if silent:
        say, count = ("says", "counts") if silent == 1 else ("say", "count")
        of = f"{some(silent, 'state')} of {len(states):,}"
        log.note("", f"{of} {say} no event, as the first one, and {count} for none")
    if log.to_nobody:
        messages = [event.message for event in log.to_nobody[""]]
        reasons |= all_but(["asynchronous"], TO_NOBODY)
        log.note("", f"{few(messages, 'message')} sent without 'peer' and not delivered, left out")
    if trace.get("loop") is not None:
        reasons |= all_but([], LASSO)
        log.note("", f"{LASSO}: it goes on with a state it had")
    log.uncertain[""] = Uncertain(reasons)
    return log


def _event(
    state: Mapping[str, Any], columns: Mapping[str, str], kinds: Mapping[str, str], line: int
) -> tuple[str, str, str, tuple[str, ...]] | None:
    """The process, kind, message and peers of the event that led to a state; None if none did."""
    record = state.get(EVENT)
    fields: Mapping[str, Any] = record if isinstance(record, dict) else {}
    if isinstance(fields.get("tag"), str) and set(fields) <= {"tag", "value"}:
        value = fields.get("value")
        fields = {"kind": fields["tag"].lower(), **(value if isinstance(value, dict) else {})}
    found = {
        name: _at(state, columns[name]) if name in columns else fields.get(name, state.get(name)) for name in _FIELDS
    }
    kind = found["kind"]
    kind = kinds.get(kind, kind) if isinstance(kind, str) else kind
    if kind is None or kind == NONE or _is_unit(kind):
        if kind is None and _is_name(found["process"]) and _is_name(found["message"]):
            raise BadInput("an event has no 'kind'", hint=f"one of {', '.join(KINDS)}", line=line)
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown_kind(_text(kind, line), (*KINDS, NONE)).at(line=line)
    kind = "deliver" if kind == "receive" else kind
    process = _name(found["process"], "process", line)
    if kind == "internal":
        return process, kind, "", ()
    message, peer = _name(found["message"], "message", line), found["peer"]
    several = _members(peer)
    if several is None:
        return process, kind, message, () if peer is None or _is_unit(peer) else (_name(peer, "peer", line),)
    if kind == "deliver":
        raise BadInput("the 'peer' of a deliver is no process", hint="name the sender, or leave it out", line=line)
    return process, kind, message, tuple(_name(one, "peer", line) for one in several)


def _at(state: Mapping[str, Any], path: str) -> Any:
    """The value of a variable, or within it, of that path; None if there is none."""
    value: Any = state
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _is_unit(value: Any) -> bool:
    return value == {"#tup": []} or (isinstance(value, dict) and value.get("tag") == "UNIT")


def _is_name(value: Any) -> bool:
    return value is not None and not _is_unit(value) and value not in ("", NONE)


def _members(value: Any) -> list[Any] | None:
    """The members of a set, a list or a tuple that is not empty; None of all else."""
    if isinstance(value, dict) and not _is_unit(value):
        value = value.get("#set", value.get("#tup"))
    return value if isinstance(value, list) else None


def _name(value: Any, what: str, line: int) -> str:
    text = "" if value is None or _is_unit(value) else _text(value, line)
    if not text or not text.isprintable():
        problem = f"the '{what}' of an event is {'no name that can be printed' if text else 'missing'}"
        raise BadInput(problem, hint="give a text or a number, or say by --column where it is", line=line)
    return text


def _text(value: Any, line: int, depth: int = 0) -> str:
    """A value as TLA+ writes it; a text without quotes where it is all."""
    if depth > _DEEPEST:
        raise BadInput("a value is nested too deeply for a name", hint="name messages by texts or numbers", line=line)

    def inner(part: Any) -> str:
        return f'"{part}"' if isinstance(part, str) else _text(part, line, depth + 1)

    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).upper()
    if type(value) is int:
        return str(value)
    if isinstance(value, list):
        return f"<<{', '.join(map(inner, value))}>>"
    if isinstance(value, dict):
        if isinstance(value.get("#bigint"), str):
            return str(value["#bigint"])
        if isinstance(value.get("#tup"), list):
            return _text(value["#tup"], line, depth)
        if isinstance(value.get("#set"), list):
            return f"{{{', '.join(sorted(map(inner, value['#set'])))}}}"
        if not any(str(key).startswith("#") for key in value):
            return f"[{', '.join(f'{key} |-> {inner(part)}' for key, part in sorted(value.items()))}]"
    hint = "name messages and processes by texts, numbers, tuples, sets or records"
    raise BadInput(f"a value cannot be a name: {printable_name(str(value))}", hint=hint, line=line)
