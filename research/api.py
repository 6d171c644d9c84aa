"""The Python functions of research, which are names of `crownless` itself."""

import os
from collections.abc import Callable
from pathlib import Path

from crownless import arguments
from crownless.api import limits_of
from crownless.impl.protocol import Protocol
from crownless.research.costs.sweeps import Where
from crownless.research.knobs.knob_map import KnobMap
from crownless.research.knobs.sweeping import knob_map
from crownless.runtime.ending import stoppable


def knobs(
    protocol: str | type[Protocol],
    processes: int | None = None,
    messages: int | None = None,
    *,
    channel: str | None = None,
    workers: int = 1,
    out: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> KnobMap:
    """The map of a protocol's design space: every combination of its choices refuted by a shortest run, or explored up
    to the bound, proved where that succeeds, compared, and priced.

    `protocol`: a bundled name that is taken apart (`rst`, `rst-queue`, `ses`, `buffer`, `murty-garg`), or a class
    with `knobs`, also by its name. `.decisions` has all of them, `.families` the right ones by what they generate,
    `.to_frame()` a table. `workers`: processes, for a protocol that is given by its name; a script then needs `if
    __name__ == "__main__"`. `out`: a folder in which decisions are saved, to resume. Raises `BadInput` for a class
    without knobs.
    """
    n = arguments.optional_number("processes", processes)
    m = arguments.optional_number("messages", messages)
    where = Where(workers=arguments.whole_number("workers", workers))
    maps: list[KnobMap] = []
    with stoppable(limits_of(None, max_seconds, None)):
        folder = None if out is None else Path(out)
        knob_map(
            protocol, processes=n, messages=m, channel=channel, where=where, out=folder, progress=progress, found=maps
        )
    return maps[0]
