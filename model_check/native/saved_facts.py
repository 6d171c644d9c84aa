"""The schema of manifests: types and ranges are checked before a manifest is used."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from crownless.spec.errors import BadInput

T = TypeVar("T")

#: Rows have no more slots than this: no workload has as many packets in flight.
MOST_SLOTS = 1 << 13

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
Size = Annotated[int, msgspec.Meta(ge=0, lt=1 << 40)]
Seconds = Annotated[float, msgspec.Meta(ge=0, lt=1e12)]
Slots = Annotated[int, msgspec.Meta(ge=1, le=MOST_SLOTS)]
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
#: A query as it is saved: see `questions.question_of`.
Request = dict[str, str | int | bool | list[str | int] | dict[str, str | int | list[int] | None] | None]


class SavedHead(msgspec.Struct):
    """The fields of every manifest, of whatever kind."""

    format: str
    version: str
    made: bool
    question: Request


class SavedResult(msgspec.Struct):
    """An `Exploration`."""

    states: Count
    transitions: Count
    depth: Count
    terminal_states: Count
    nodes: Count
    seconds: Seconds
    graded: bool
    broken: dict[str, Count]
    reached: list[str]
    blocked: list[list[str]]
    stopped: str | None
    levels: list[Count]
    acyclic: bool
    actions: dict[str, Count]


class SavedLayout(msgspec.Struct):
    """The numbers that determine a layout."""

    slots: Slots
    monitor_states: Size
    cells: Size
    packets: Size


class SavedTables(msgspec.Struct):
    """The saved facts of any engine: the contents of the tables, and how far the search was."""

    result: SavedResult
    level: Count
    keep: bool
    batches: list[Count]
    plain_monitor_states: bool
    #: How processes that are declared alike were seen to differ.
    told_apart: str | None
    digest: Sha256

    def problem(self, *, new: int, rows: int | None) -> str | None:
        """The inconsistency among these, if any, given how many rows are saved (None: unknown) and how many are new
        states.
        """
        found = self.result
        if len(found.levels) != self.level + 1 or sum(found.levels) != found.states or found.states > found.nodes:
            return "its levels do not add up to its states"
        if new != found.levels[-1] or (self.keep and rows is not None and rows != found.nodes):
            return "its rows are not as many as it counts"
        if found.depth > self.level or any(depth > self.level + 1 for depth in found.broken.values()):
            return "it knows of levels that it has not reached"
        return None


class SavedSearch(SavedTables):
    """The manifest of the native engine."""

    layout: SavedLayout


class SavedFile(msgspec.Struct):
    """A file that belongs to the search."""

    file: str
    sha256: Sha256


class SavedCheckpoint(msgspec.Struct):
    """The manifest of the native engine, but for its head."""

    serial: Count
    facts: SavedSearch
    files: dict[str, SavedFile]


def convert(value: Any, schema: type[T], where: str, hint: str) -> T:
    """The value by its schema; raises `BadInput` that begins with `where`."""
    try:
        return msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).replace("`", "").partition(" - at ")
        raise BadInput(
            f"{where}: {problem[:1].lower()}{problem[1:]}{f', at {path}' if path else ''}", hint=hint
        ) from None
    except UnicodeEncodeError:
        raise BadInput(f"{where}: holds half a surrogate pair", hint=hint) from None
    except RecursionError:
        raise BadInput(f"{where}: nested too deeply", hint=hint) from None
