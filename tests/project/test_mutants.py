"""The table of faults in crownless itself (`mutants`) is about the code as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import Mutant, files_of_tests, mutants, planted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: mutant.fault)
def test_each_fault_can_be_planted_and_names_its_tests(mutant: Mutant) -> None:
    assert planted(mutant, ROOT) != (ROOT / mutant.file).read_text()
    assert all(files_of_tests(name, ROOT) for name in mutant.tests)
