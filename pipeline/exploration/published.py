"""The driver's tables of a search, followed by executors version by version.

The driver alone numbers cells, packets and monitor states, so that a number means the same everywhere. The additions
since the last version go into a file; an executor reads the files up to the version that it needs. Each version carries
a digest of all files up to it: an executor that computes another digest has other tables, and raises an error.
"""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.native import kernels
from crownless.model_check.native.columns import Map
from crownless.model_check.native.monitor_states import MonitorStates
from crownless.model_check.native.tables import Tables

#: The columns of the tables that the kernels read; the maps are separate.
COLUMNS = ("cells", "cell_renamed", "source", "packet_renamed", "outcomes", "emitted", "code_at", "owed")
MAPS = ("arrivals", "steps", "renamed")


class Facts(NamedTuple):
    """The sizes of the tables."""

    cells: int
    packets: int
    monitor_states: int
    actions: int
    most_own: int
    most_of_arrival: int
    most_emitted: int


class View(NamedTuple):
    """The tables in the form that an expansion reads."""

    tables: kernels.Tables
    monitor_states: kernels.MonitorStates
    facts: Facts


class Version(NamedTuple):
    """The version of the tables that a task needs; `of` identifies the search."""

    of: str
    number: int
    digest: str


class Journal(Map):
    """A hash table that records its entries since the last call of `entered`."""

    def __init__(self) -> None:
        super().__init__()
        self._entered: list[tuple[Any, Any]] = []

    def enter(self, keys: Any, values: Any) -> None:
        super().enter(keys, values)
        self._entered.append((keys, values))

    def entered(self) -> tuple[Any, Any]:
        keys = [np.zeros(0, np.uint64), *(keys for keys, _ in self._entered)]
        values = [np.zeros(0, np.int64), *(values for _, values in self._entered)]
        self._entered.clear()
        return np.concatenate(keys), np.concatenate(values)


class Published:
    """The driver's side: publishes the versions of tables that are empty at first."""

    def __init__(self, directory: Path, of: str, tables: Tables, monitor_states: MonitorStates) -> None:
        self._directory, self._of = directory, of
        self._tables, self._monitor_states = tables, monitor_states
        self._journals = {name: Journal() for name in MAPS}
        tables.arrivals, monitor_states.steps, monitor_states.renamed = self._journals.values()
        self._known = {name: np.zeros_like(column[:0]) for name, column in self._columns().items()}
        self._version = Version(of, 0, "")

    @property
    def version(self) -> Version:
        """The last published version."""
        return self._version

    @property
    def files(self) -> set[str]:
        """The files of all versions."""
        return {_path(self._directory, self._of, number + 1).name for number in range(self._version.number)}

    def _columns(self) -> dict[str, Any]:
        columns = self._tables.arrays()._asdict()
        columns["owed"] = self._monitor_states.owed()
        return {name: columns[name] for name in COLUMNS}

    def view(self) -> View:
        """The tables themselves."""
        tables = self._tables
        facts = Facts(
            len(tables.cells),
            len(tables.packets),
            len(self._monitor_states),
            len(tables.actions),
            tables.most_own,
            tables.most_of_arrival,
            tables.most_emitted,
        )
        return View(tables.arrays(), self._monitor_states.arrays(), facts)

    def publish(self) -> Version:
        """Publishes the current tables; returns their version."""
        added: dict[str, Any] = {"facts": np.array(self.view().facts, np.int64)}
        for name, column in self._columns().items():
            known = self._known[name]
            same = min(len(known), len(column))
            differs = np.ones(len(column), np.bool_)
            differs[:same] = _rows_with_any(column[:same] != known[:same])
            differs[same:] = _rows_with_any(column[same:] != 0)
            places = np.flatnonzero(differs)
            if len(places) or len(column) != len(known):
                added[f"{name}-length"] = np.array(len(column))
                added[f"{name}-places"], added[name] = places, column[places]
                self._known[name] = column.copy()
        for name, journal in self._journals.items():
            keys, values = journal.entered()
            if len(keys):
                added[f"{name}-keys"], added[name] = keys, values
        if len(added) == 1 and self._version.number:
            return self._version
        with io.BytesIO() as written:
            np.savez(written, **added)
            content = written.getvalue()
        _, number, digest = self._version
        path = _path(self._directory, self._of, number + 1)
        partial = path.with_suffix(".partial")
        partial.write_bytes(content)
        os.replace(partial, path)
        self._version = Version(self._of, number + 1, _digest(digest, content))
        return self._version


class Replica:
    """An executor's side: the same tables at some version."""

    def __init__(self) -> None:
        self._version = 0
        self._digest = ""
        self._columns: dict[str, Any] = {}
        self._maps = {name: Map() for name in MAPS}
        self._facts = Facts(*[0] * len(Facts._fields))

    def follow(self, directory: Path, version: Version) -> View:
        """The tables at a version no older than the last requested one; raises `ValueError` if they differ."""
        while self._version < version.number:
            content = _path(directory, version.of, self._version + 1).read_bytes()
            with np.load(io.BytesIO(content), allow_pickle=False) as added:
                self._apply(added)
            self._digest = _digest(self._digest, content)
            self._version += 1
        if (self._version, self._digest) != (version.number, version.digest):
            raise ValueError(f"the tables of this executor are not those of the driver at version {version.number}")
        known: dict[str, Any] = {**self._columns, **{name: map_.table for name, map_ in self._maps.items()}}
        tables = kernels.Tables(**{name: known[name] for name in kernels.Tables._fields})
        monitor_states = kernels.MonitorStates(**{name: known[name] for name in kernels.MonitorStates._fields})
        return View(tables, monitor_states, self._facts)

    def _apply(self, added: Any) -> None:
        self._facts = Facts(*added["facts"].tolist())
        for name in COLUMNS:
            if name in added:
                values, length = added[name], int(added[f"{name}-length"])
                known = self._columns.get(name)
                if known is None or len(known) < length:
                    longer = np.zeros((length, *values.shape[1:]), values.dtype)
                    longer[: 0 if known is None else len(known)] = 0 if known is None else known
                    known = self._columns[name] = longer
                known[added[f"{name}-places"]] = values
        for name, map_ in self._maps.items():
            if name in added:
                map_.enter(added[f"{name}-keys"], added[name])

    @property
    def version(self) -> int:
        return self._version


def _rows_with_any(differs: Any) -> Any:
    """For each row, true if any of its entries is."""
    return differs.reshape(len(differs), -1).any(axis=1) if differs.size else np.zeros(len(differs), np.bool_)


def _path(directory: Path, of: str, number: int) -> Path:
    return directory / f"tables-{of}-{number}.npz"


def _digest(before: str, content: bytes) -> str:
    return hashlib.blake2b(before.encode() + content, digest_size=16).hexdigest()
