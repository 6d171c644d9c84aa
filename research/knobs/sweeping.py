"""The combinations of a protocol's choices decided in several processes, or on Spark; in a folder they resume."""

import hashlib
import inspect
import json
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from crownless.impl.channels import channel_named
from crownless.impl.protocol import ProtocolMachine, default_bound
from crownless.impl.registry import qualified_name_of
from crownless.research.costs.sweeps import HERE, Progress, Sweep, Where, sweep

from .combinations import Combination, class_with_knobs, combinations, knobs_of
from .deciding import FIRST, GIVEN, SECOND, Row, first_row, second_row
from .knob_map import Decision, KnobMap, Places, rows_of_both

FIRST_SWEEP = Sweep(first_row, FIRST, "a table of combinations", lambda row: 1, lambda row: row["unknown"] is None)
SECOND_SWEEP = Sweep(second_row, SECOND, "a table of combinations", lambda row: 1, lambda row: row["unknown"] is None)


def knob_map(
    protocol: str | type[ProtocolMachine],
    *,
    processes: int | None = None,
    messages: int | None = None,
    channel: str | None = None,
    where: Where = HERE,
    out: Path | None = None,
    progress: Progress = lambda done, total: None,
    found: list[KnobMap] | None = None,
) -> KnobMap:
    """Every combination, decided up to this bound; decisions that `out` has are reused.

    If it ends early, `found` has the map of what is decided by then. A class that is given as such is decided in this
    process.
    """
    kind = class_with_knobs(protocol) if isinstance(protocol, str) else protocol
    name = protocol if isinstance(protocol, str) else qualified_name_of(kind)
    if not isinstance(protocol, str):
        GIVEN[name], where = kind, HERE
    default = default_bound(kind)
    bound = (processes or default[0], messages or default[1])
    over = channel or kind.needs_channel
    channel_named(over)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    every = list(combinations(kind))
    code = code_of(kind)

    def request(places: Places) -> Row:
        row = {"protocol": name, "places": ".".join(map(str, places)), "processes": bound[0], "messages": bound[1]}
        row["channel"] = over
        return {"key": hashlib.sha256(json.dumps([code, *row.values()]).encode()).hexdigest()[:32], **row}

    requests = {combination.places: request(combination.places) for combination in every}
    first: dict[str, Row] = {}
    second: dict[str, Row] = {}
    representative: dict[Places, Places] = {}
    try:
        every_one = list(requests.values())
        sweep(FIRST_SWEEP, every_one, where, out=out and out / "first", found=first, progress=progress)
        alike: dict[str, Places] = {}
        for places, row in requests.items():
            done = first[row["key"]]
            if done["violated"] is None and done["unknown"] is None:
                representative[places] = alike.setdefault(done["functions"] or row["key"], places)
        survivors = [requests[places] for places in alike.values()]
        sweep(SECOND_SWEEP, survivors, where, out=out and out / "second", found=second, progress=progress)
    finally:
        rows = rows_of_both(every, decided(requests, first), decided(requests, second), representative)
        made = KnobMap(name, kind, bound, over, tuple(every), rows)
        if found is not None:
            found.append(made)
    return made


def decide_one(protocol: str, of: Combination, bound: tuple[int, int], channel: str) -> Decision:
    """The decision on one combination of this protocol, made here."""
    row: Row = {"key": "", "protocol": protocol, "places": ".".join(map(str, of.places)), "channel": channel}
    row |= {"processes": bound[0], "messages": bound[1]}
    first = first_row(row)
    if first["violated"] is not None or first["unknown"] is not None:
        return Decision(of, first)
    return Decision(of, {**first, **second_row(row)})


def write_table(of: KnobMap, out: Path) -> None:
    """Writes every combination to `combinations.parquet` in a folder."""
    import pyarrow as arrow  # it takes a while
    from pyarrow import parquet

    rows = [each.json() for each in of.decisions.values()]
    parquet.write_table(arrow.Table.from_pylist(rows), out / "combinations.parquet")


def decided(requests: Mapping[Places, Row], by_key: Mapping[str, Row]) -> dict[Places, Row]:
    """The rows that are decided, by the places of their combination."""
    return {places: by_key[row["key"]] for places, row in requests.items() if row["key"] in by_key}


def code_of(kind: type[ProtocolMachine]) -> str:
    """A digest of the code that decisions depend on: with other code they are made again."""
    code = {
        file
        for package in ("spec", "impl", "model_check", "proofs", "research")
        for file in Path(str(files("crownless"))).joinpath(package).rglob("*.py")
    }
    own = {_file_of(base) for base in kind.__mro__} | {
        _file_of(alternative) for knob in knobs_of(kind) for alternative in knob.alternatives.values()
    }
    folders = {file.parent for file in own if file is not None} - {file.parent for file in code}
    beside = {_file_of(module) for module in list(sys.modules.values())}
    code |= {file for file in own | beside if file is not None and (file in own or file.parent in folders)}
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(code))).hexdigest()


def _file_of(thing: Any) -> Path | None:
    """The file of a class, function or module, if it has one."""
    try:
        file = Path(inspect.getfile(thing))
    except (TypeError, OSError):
        return None
    return file if file.is_file() else None
