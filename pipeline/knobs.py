"""The combinations of a protocol's choices decided in several processes, or on Spark; in a folder they resume."""

import hashlib
import inspect
import json
from pathlib import Path

from crownless import impl, model_check, proofs, spec
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import qualified_name_of
from crownless.impl.variants.knobs import class_with_knobs, combinations
from crownless.proofs.knobs.deciding import FIRST, GIVEN, SECOND, Row, first_row, second_row
from crownless.proofs.knobs.knob_map import KnobMap, rows_of_both

from .sweeps import Progress, Sweep, sweep

FIRST_SWEEP = Sweep(first_row, FIRST, "a table of combinations", lambda row: 1)
SECOND_SWEEP = Sweep(second_row, SECOND, "a table of combinations", lambda row: 1)


def knob_map(
    protocol: str | type[ProtocolMachine],
    *,
    processes: int | None = None,
    messages: int | None = None,
    engine: str = "plain",
    workers: int = 1,
    out: Path | None = None,
    master: str | None = None,
    progress: Progress = lambda done, total: None,
    found: list[KnobMap] | None = None,
) -> KnobMap:
    """Every combination, decided up to this bound; decisions that `out` has are reused.

    If it ends early, `found` has the map of what is decided by then. `workers`: processes of the engine `plain`.
    """
    kind = class_with_knobs(protocol) if isinstance(protocol, str) else protocol
    name = protocol if isinstance(protocol, str) else qualified_name_of(kind)
    if not isinstance(protocol, str):
        GIVEN[name], workers = kind, 1
    bound = (processes or kind.bound[0], messages or kind.bound[1])
    every = list(combinations(kind))
    code = code_of(kind)

    def request(places: tuple[int, ...]) -> Row:
        row = {"protocol": name, "places": ".".join(map(str, places)), "processes": bound[0], "messages": bound[1]}
        return {"key": hashlib.sha256(json.dumps([code, *row.values()]).encode()).hexdigest()[:32], **row}

    requests = {combination.places: request(combination.places) for combination in every}
    how = {"engine": engine, "workers": workers, "master": master, "progress": progress}
    first: dict[str, Row] = {}
    second: dict[str, Row] = {}
    representative: dict[tuple[int, ...], tuple[int, ...]] = {}
    try:
        sweep(FIRST_SWEEP, list(requests.values()), out=out and out / "first", found=first, **how)
        alike: dict[str, tuple[int, ...]] = {}
        for places, row in requests.items():
            done = first[row["key"]]
            if done["violated"] is None and done["unknown"] is None:
                representative[places] = alike.setdefault(done["functions"] or row["key"], places)
        survivors = [requests[places] for places in alike.values()]
        sweep(SECOND_SWEEP, survivors, out=out and out / "second", found=second, **how)
    finally:
        by_places = [
            {p: done[row["key"]] for p, row in requests.items() if row["key"] in done} for done in (first, second)
        ]
        made = KnobMap(name, kind, bound, tuple(every), rows_of_both(every, *by_places, representative))
        if found is not None:
            found.append(made)
    return made


def code_of(kind: type[ProtocolMachine]) -> str:
    """A digest of the code that decisions depend on: with other code they are made again."""
    files = {
        file
        for package in (spec, impl, model_check, proofs)
        for folder in package.__path__
        for file in Path(folder).rglob("*.py")
    }
    files |= {Path(inspect.getfile(base)) for base in kind.__mro__ if base.__module__ not in ("builtins", "__main__")}
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(files))).hexdigest()
