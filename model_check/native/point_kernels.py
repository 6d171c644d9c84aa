"""The monitor of any one order, compiled by Numba from its definition.

`system.open_points` defines it; a row of numbers there is a stretch of the pool of words here, with the same numbers.
The monitor beside it, of `mask_kernels`, refuses events that happen to wrong processes, so none comes here.
"""

# The types of numbers here are Numba's, which mypy does not know.
# mypy: disable-error-code="no-any-return, return-value, assignment"

from typing import Any

import numpy as np

from crownless.model_check.system import open_points
from crownless.model_check.system.open_points import HAND, happen
from crownless.model_check.system.open_points import rename as rename_row

from .compiled import called_by_kernels, compiled
from .mask_kernels import DELIVER, SEND, Universe
from .mask_kernels import HAND as HANDED
from .pool import Pool

#: The events that these monitors heed, in their order in `mask_kernels`.
HEEDED = (HANDED, SEND, DELIVER)
#: The most points in a set.
MAX_POINTS = 62

for function in open_points.COMPILED:
    called_by_kernels(function)


def sizes(universe: Universe) -> tuple[int, int]:
    """Words of the empty monitor state, and per open message."""
    copies = max(np.diff(universe.first), default=0)
    return 1 + 2 * universe.n, 3 + 2 * int(copies)


@called_by_kernels
def load(monitor_state: int, pool: Pool, row: Any) -> int:
    """Reads a monitor state from the pool into a row; returns its length."""
    begin = pool.offset[monitor_state]
    length = pool.offset[monitor_state + 1] - begin
    for w in range(length):
        row[w] = np.int64(pool.content[begin + w])
    return length


@called_by_kernels
def store(row: Any, length: int, out: Pool, k: int) -> None:
    """Writes a row as a sequence."""
    for w in range(length):
        out.content[out.offset[k] + w] = np.uint64(row[w])
    out.offset[k + 1] = out.offset[k] + length


@compiled
def observe(
    keys: Any,
    violated_by: Any,
    pool: Pool,
    out: Pool,
    universe: Universe,
    starts: Any,
    kinds: Any,
    whose: Any,
    what: Any,
) -> None:
    """As `mask_kernels.observe`."""
    row, messages = universe.rows[0], (universe.sender, universe.receiver, universe.first)
    for k in range(keys.shape[0]):
        monitor_state = np.int64(keys[k] >> np.uint64(32))
        code = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        length = load(monitor_state, pool, row)
        for o in range(starts[code], starts[code + 1]):
            m, event = what[o], HAND
            if kinds[o] != HANDED:
                event = 0
            if kinds[o] == DELIVER:
                event = 1
                while universe.receiver[universe.first[m] + event - 1] != whose[o]:
                    event += 1
            length = happen(row, length, universe.n, universe.order, whose[o], m, event, *messages)
        store(row, length, out, k)
        violated_by[k] = universe.violated if row[0] < 0 else 0


@compiled
def rename(
    keys: Any, _violated_by: Any, pool: Pool, out: Pool, universe: Universe, images: Any, copies: Any, messages: Any
) -> None:
    """As `mask_kernels.rename`."""
    row, renamed = universe.rows[0], universe.rows[1]
    for k in range(keys.shape[0]):
        monitor_state = np.int64(keys[k] >> np.uint64(32))
        q = np.int64(keys[k] & np.uint64(0xFFFFFFFF))
        length = load(monitor_state, pool, row)
        rename_row(row, length, universe.n, universe.order, universe.first, images[q], messages[q], copies[q], renamed)
        store(renamed, length, out, k)
