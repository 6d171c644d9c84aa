"""The local variables of a process as shown: matrices, rows and values, and the changes by an action."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from crownless.drawing.diagram import Variable
from crownless.impl.protocol import Packet
from crownless.runtime.printable import printable_name, shown
from crownless.spec.computation import Message

#: The number of rows and columns of a matrix, and of entries of a set, that are shown.
SHOWN = 40
#: Stands for no entries.
NOTHING = "∅"
#: Stands for the entries that are not shown.
MORE = "…"

Called = Callable[[Message], str]


def variables_of(state: Any, called: Called) -> tuple[Variable, ...]:
    """The variables of a local state; variables of a part have the part's name. `called`: the names of messages."""
    return tuple(Variable(name, _rows(value, called)) for name, value in _fields(state, ""))


def with_changes(after: tuple[Variable, ...], before: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The variables, with each change since the previous state marked."""
    old = {variable.name: variable.rows for variable in before}
    return tuple(variable._replace(changed=_changed(old.get(variable.name, ()), variable.rows)) for variable in after)


def _changed(before: tuple[tuple[str, ...], ...], after: tuple[tuple[str, ...], ...]) -> frozenset[tuple[int, int]]:
    was = {(r, k): cell for r, row in enumerate(before) for k, cell in enumerate(row)}
    now = {(r, k): cell for r, row in enumerate(after) for k, cell in enumerate(row)}
    return frozenset(place for place in was.keys() | now.keys() if was.get(place) != now.get(place))


def _fields(state: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(state, tuple) and hasattr(state, "_fields") and not isinstance(state, (Message, Packet)):
        parts = list(zip(state._fields, state, strict=False))
    elif dataclasses.is_dataclass(state) and not isinstance(state, type):
        parts = [(part.name, getattr(state, part.name, None)) for part in dataclasses.fields(state)]
    else:
        yield name or "state", state
        return
    for part, value in parts:
        yield from _fields(value, f"{name}.{part}" if name else part)


def _rows(value: Any, called: Called) -> tuple[tuple[str, ...], ...]:
    if _is_row(value) and value and all(_is_row(row) and len(row) == len(value[0]) for row in value):
        rows = tuple(_cells(row, called) for row in value[:SHOWN])
        cut = ((MORE,),) if len(value) > SHOWN else ()
        return (*rows, *cut) if any(rows) else ((NOTHING,),)
    if _is_row(value):
        return (_cells(value, called) or (NOTHING,),)
    return ((_text(value, called),),)


def _cells(row: Sequence[Any], called: Called) -> tuple[str, ...]:
    return tuple(_shortened([_text(cell, called) for cell in row[: SHOWN + 1]]))


def _shortened(texts: list[str]) -> list[str]:
    """The first entries, with a sign if there are more."""
    return texts if len(texts) <= SHOWN else [*texts[:SHOWN], MORE]


def _by_number(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts m2 before m10."""
    parts = re.split(r"(\d+)", text)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _is_row(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and not hasattr(value, "_fields")


def _text(value: Any, called: Called) -> str:
    """A value in a cell."""
    if isinstance(value, Message):
        return called(value)
    if isinstance(value, Packet):
        return value.kind if value.message is None else f"{value.kind} {called(value.message)}"
    if value is None:
        return "–"
    if isinstance(value, str):
        return printable_name(value)
    if isinstance(value, (frozenset, set)):
        inside = sorted((_text(one, called) for one in value), key=_by_number)
        return f"{{{', '.join(_shortened(inside))}}}" if value else NOTHING
    if isinstance(value, Mapping):
        items = sorted((f"{_text(key, called)}: {_text(one, called)}" for key, one in value.items()), key=_by_number)
        return f"{{{', '.join(_shortened(items))}}}" if items else NOTHING
    if isinstance(value, (tuple, list)):
        fields = getattr(value, "_fields", ())
        inside = [_text(one, called) for one in value[: SHOWN + 1]]
        named = [f"{name}={text}" for name, text in zip(fields, inside, strict=False)]
        return f"({', '.join(_shortened(named or inside))})" if inside else NOTHING
    return printable_name(shown(value))
