"""Without a browser, or the package that drives it, tests of pages are skipped and all others run as usual."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Runs pytest where no module of playwright can be imported.
WITHOUT_PLAYWRIGHT = "import sys, pytest; sys.modules['playwright'] = None; sys.exit(pytest.main(sys.argv[1:]))"
WITH_PLAYWRIGHT = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"


@pytest.mark.parametrize(
    ("program", "lacking"),
    [(WITHOUT_PLAYWRIGHT, "playwright"), (WITH_PLAYWRIGHT, "Chromium")],
    ids=["no-playwright", "no-chromium"],
)
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("test_run_explorer.py::test_an_address_that_is_none_of_the_page_is_said", "1 skipped"),
        ("test_graphs.py", " passed"),
    ],
    ids=["of-a-page", "of-something-else"],
)
def test_without_a_browser_pytest_says_what_was_not_tested_and_how_the_other_tests_ended(
    tmp_path: Path, program: str, lacking: str, test: str, outcome: str
) -> None:
    command = [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", test]
    environment = os.environ | {"PATH": str(tmp_path)}
    ended = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    *_, reason, summary = ended.stdout.strip().splitlines()
    assert reason.startswith("No page was tested in a browser: ")
    assert lacking in reason
    assert outcome in summary
