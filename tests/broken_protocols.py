"""Protocols with one planted fault each, and variations that look like faults and are none.

Every machine in these tables is a protocol of `impl` with one rule of its text overridden (`impl/variants`). `BROKEN`
says which rule that is, which property names the fault, how small a bound shows it and in how many actions;
`HARMLESS` are changes that no property notices, which says something about the text. The tests hold both tables to
what the explorer finds.
"""

from __future__ import annotations

import broken_buffer
import broken_buffer_variants
import broken_cbcast
import broken_extra_messages
import broken_fifo
import broken_isis
import broken_kearns
import broken_matrix_variants
import broken_murty_garg
import broken_optimal
import broken_rst
import broken_ses
import broken_ses_variants

from planted import Fault, Harmless

FILES = (
    broken_fifo,
    broken_kearns,
    broken_cbcast,
    broken_isis,
    broken_rst,
    broken_matrix_variants,
    broken_ses,
    broken_ses_variants,
    broken_buffer,
    broken_buffer_variants,
    broken_murty_garg,
    broken_extra_messages,
    broken_optimal,
)

ROWS = tuple(row for file in FILES for row in file.ROWS)
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
