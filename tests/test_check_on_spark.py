"""`crownless check --engine spark` says what `--engine native` says, its runs included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from spark_session import spark  # noqa: F401

from crownless.command_line import main
from crownless.model_check import check as checking
from crownless.model_check.engines import COMPILES
from crownless.pipeline.exploration import search as exploration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def crownless(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: str) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        printed = capsys.readouterr()
        return exit_.value.code, printed.out, printed.err.replace(f"crownless: {COMPILES}\n", "")

    return run


def facts(out: str) -> dict[str, Any]:
    (found,) = json.loads(out)["checks"]
    assert isinstance(found, dict)
    return {key: value for key, value in found.items() if key not in ("seconds", "engine", "scope", "workers")}


@pytest.mark.parametrize("options", ["rst -n 3 -m 3", "unordered -n 3 -m 3", "buffer --program mf-program-3"])
def test_the_same_facts(options: str, crownless: Any, spark: SparkSession) -> None:  # noqa: F811
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", 200), patch.object(checking, "FEW_STATES", 10):
        there = crownless("check", *options.split(), "--engine", "spark", "--json")
    here = crownless("check", *options.split(), "--engine", "native", "--json")
    assert (there[0], there[2]) == (here[0], "")
    assert facts(there[1]) == facts(here[1])


def test_a_search_in_parts(crownless: Any, spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    options = ["check", "rst", "-n", "3", "-m", "4", "--engine", "spark", "--json"]
    directory = str(tmp_path / "saved")
    code, _, err = crownless(*options, "--max-states", "500", "--checkpoint", directory)
    assert (code, err) == (
        3,
        f"crownless: saved in {directory}; go on with: crownless check --engine spark --resume {directory}\n",
    )
    message = f"crownless: --resume {directory}: saved by another engine; add --engine spark\n"
    assert crownless("check", "--resume", directory) == (2, "", message)
    code, out, err = crownless("check", "--engine", "spark", "--resume", directory, "--json")
    assert (code, err) == (0, "")
    assert facts(out) == facts(crownless("check", "rst", "-n", "3", "-m", "4", "--engine", "native", "--json")[1])
    assert not (tmp_path / "saved").exists()


def test_unsupported_options_are_refused(crownless: Any) -> None:
    assert crownless("check", "rst", "--engine", "spark", "--crash", "P1") == (
        2,
        "",
        "crownless: rst: --engine spark: the native engine knows no crashes; leave that out\n",
    )
    assert crownless("check", "rst", "--master", "local") == (
        2,
        "",
        "crownless: --master: only of --engine spark; leave it out, or use --engine spark\n",
    )


def test_a_search_saved_by_the_native_engine_is_not_resumed_here(crownless: Any, tmp_path: Path) -> None:
    directory = str(tmp_path / "saved")
    assert crownless("check", "rst", "-n", "3", "-m", "4", "--max-states", "500", "--checkpoint", directory)[0] == 3
    message = f"crownless: --resume {directory}: saved by another engine; leave out --engine spark\n"
    assert crownless("check", "--engine", "spark", "--resume", directory) == (2, "", message)
    assert crownless("check", "--resume", directory)[0] == 0
