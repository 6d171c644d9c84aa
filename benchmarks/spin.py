"""SPIN on `rst.pml`: the same states, found by the standard explicit-state model checker, as fast as it can.

Depth-first, one core, exact: every state is stored in full. The flags are those with which SPIN was fastest here,
without bounds checks and properties, which is in its favour; or, `as_it_comes`, the optimiser's alone.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

MODEL = Path(__file__).with_name("rst.pml")

FLAGS = ("-O3", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DNOBOUNDCHECK", "-DNOCOMP", "-DVECTORSZ=512")
#: Megabytes at which SPIN gives up.
MEMORY = 16_000


def available() -> bool:
    """True if SPIN and a C compiler are on the PATH."""
    return all(shutil.which(program) for program in ("spin", "gcc"))


def explore(n: int, m: int, *, states: int = 1 << 20, as_it_comes: bool = False) -> dict[str, float]:
    """One search. `states`, an estimate of their number, sizes the hash table: one or two slots for each.

    - `states`, `transitions`, `depth`: counted as ours are
    - `seconds`: processor time of the search alone, user and system; SPIN's own `elapsed` has but two decimals, and
    counts other load on the machine
    - `compile_seconds`: from the model to the program that searches
    - `bytes`: memory for a state, the hash table included, by SPIN's own account; `bytes_alone`: without the table
    """
    bits = max(16, (states - 1).bit_length())
    with tempfile.TemporaryDirectory(prefix="crownless-spin-") as directory:
        started = time.perf_counter()
        _run(directory, "spin", "-a", f"-DN={n}", f"-DM={m}", str(MODEL))
        flags = ("-O3", "-DVECTORSZ=512") if as_it_comes else FLAGS
        _run(directory, "gcc", "-w", *flags, f"-DMEMLIM={MEMORY}", "-o", "pan", "pan.c")
        compiled = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        printed = _run(directory, "./pan", f"-m{10 * m}", f"-w{bits}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if "errors: 0" not in printed or "not completed" in printed or "too small" in printed:
        raise RuntimeError(f"SPIN did not complete its search:\n{printed}")
    stored = _figure(r"(\d+) states, stored", printed)
    memory = _figure(r"([\d.]+)\s+(?:total actual memory usage|memory usage \(Mbyte\))", printed) * (1 << 20)
    return {
        "states": stored,
        "transitions": _figure(r"(\d+) transitions", printed) - 1,  # SPIN counts the way to the initial state
        "depth": _figure(r"depth reached (\d+)", printed),
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "elapsed": _figure(r"elapsed time ([\d.e+-]+) seconds", printed),
        "compile_seconds": compiled - started,
        "bytes": memory / stored,
        "bytes_alone": (memory - (8 << bits)) / stored,
    }


def _run(directory: str, *command: str) -> str:
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout


def _figure(pattern: str, printed: str) -> float:
    found = re.search(pattern, printed)
    if found is None:
        raise RuntimeError(f"SPIN's output does not match {pattern!r}:\n{printed}")
    return float(found[1])
