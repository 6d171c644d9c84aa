"""The fields of manifests, read back with their types."""

from __future__ import annotations

import msgspec


class SavedResult(msgspec.Struct):
    """An `Exploration`."""

    states: int
    transitions: int
    depth: int
    terminal_states: int
    nodes: int
    seconds: float
    graded: bool
    broken: dict[str, int]
    reached: list[str]
    blocked: list[list[str]]
    stopped: str | None
    levels: list[int]
    acyclic: bool
    actions: dict[str, int]


class SavedLayout(msgspec.Struct):
    """The numbers that determine a layout."""

    slots: int
    monitor_states: int
    cells: int
    packets: int


class SavedTables(msgspec.Struct):
    """The saved facts of any engine: the contents of the tables, and how far the search was."""

    result: SavedResult
    level: int
    keep: bool
    batches: list[int]
    plain_monitor_states: bool
    #: How processes that are declared alike were seen to differ.
    told_apart: str | None
    digest: str


class SavedSearch(SavedTables):
    """The manifest of the native engine."""

    layout: SavedLayout


class SavedFile(msgspec.Struct):
    """A file that belongs to the search."""

    file: str
    sha256: str


class SavedCheckpoint(msgspec.Struct):
    """The manifest of the native engine, but for its head."""

    serial: int
    facts: SavedSearch
    files: dict[str, SavedFile]
