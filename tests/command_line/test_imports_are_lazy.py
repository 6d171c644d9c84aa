"""A verb imports what it uses: large libraries are not loaded by verbs that do without."""

from __future__ import annotations

import subprocess
import sys

import pytest

LARGE = ("crownless.pipeline", "crownless.proofs", "networkx", "numba", "numpy", "pyarrow", "pyspark", "z3")

#: Runs a verb, then prints which of the modules that are given are loaded.
RUN = """
import sys
from crownless.command_line import main
try:
    main(sys.argv[2:])
except SystemExit as ended:
    print(ended.code, [name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "classify mf-fig5",
        "classify mf-fig4",
        "check rst -n 2 -m 3 --quiet",
        "count -n 2 -m 2",
        "show mf-fig5",
    ],
)
def test_a_verb_loads_no_large_library_that_it_does_not_use(arguments: str) -> None:
    command = [sys.executable, "-c", RUN, ",".join(LARGE), *arguments.split()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.stderr.splitlines()[-1].split(maxsplit=1)[1] == "[]", ended.stderr
