"""The vector-pair protocol, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from broken_tables import Broken, BrokenProgram, Harmless

BROKEN: tuple[Broken, ...] = ()

BROKEN_PROGRAMS: tuple[BrokenProgram, ...] = ()

HARMLESS: tuple[Harmless, ...] = ()
