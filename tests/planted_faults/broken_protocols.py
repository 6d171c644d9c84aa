"""Protocols with one planted fault each, and variations that look like faults and are none.

Every machine in these tables is a protocol of `impl` with one rule of its text overridden. `BROKEN` says which property
names the fault, how small a bound shows it and in how many actions; `HARMLESS` are changes that no property notices,
which says something about the text. The tests hold both tables to what the explorer finds.
"""

from __future__ import annotations

from importlib import import_module

from planted import Fault, Harmless

TABLES = [
    import_module(f"broken_{protocols}")
    for protocols in (
        *("fifo", "kearns", "cbcast", "isis", "rst", "matrix_variants", "ses", "ses_variants"),
        *("buffer", "buffer_variants", "murty_garg", "extra_messages", "optimal"),
    )
]
ROWS: tuple[Fault | Harmless, ...] = tuple(row for table in TABLES for row in table.ROWS)
PLANTED = tuple(row for row in ROWS if isinstance(row, Fault))
#: Those that the free workload shows; and those that a program shows, with what shows it.
BROKEN = tuple(row for row in PLANTED if row.catches)
BROKEN_PROGRAMS = tuple((row.machine, catch) for row in PLANTED for catch in row.in_programs)
HARMLESS = tuple(row for row in ROWS if isinstance(row, Harmless))

#: Each check of the tables of broken protocols, once: machine, processes, messages, setup.
FAULTS = {
    (row.machine, catch.processes, catch.messages, repr(catch.setup)): catch.setup
    for row in BROKEN
    for catch in row.catches
}
VARIATIONS = {(row.machine, row.processes, row.messages, repr(row.setup)): row.setup for row in HARMLESS}
