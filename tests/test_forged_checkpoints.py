"""Checkpoints are data: whoever wrote them, and whatever their digests say, none does harm, and none is lost."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from fuzz_verdicts import Input, contents, run, wrong_with

from crownless.model_check.check import run_check
from crownless.model_check.limits import Limits
from crownless.model_check.native import saved_requests
from crownless.model_check.native.saved_directories import MANIFEST
from crownless.model_check.native.saved_files import create, open_regular
from crownless.model_check.request import Check

Manifest = dict[str, Any]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    directory = tmp_path / "saved"
    assert run_check(Check("rst", 2, 3), Limits(states=12), workers=1, checkpoint=directory).saved == directory
    return directory


def forge(directory: Path, change: Callable[[Manifest], object]) -> None:
    """Changes the manifest, and computes all digests anew."""
    path = directory / MANIFEST
    manifest = json.loads(path.read_text("utf-8"))
    change(manifest)
    for entry in manifest["files"].values():
        file = directory / entry["file"]
        if file.is_file():
            entry["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    manifest.pop("sha256")
    manifest["sha256"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    path.write_text(json.dumps(manifest), "utf-8")


def refused(directory: Path, *said: str) -> None:
    """It is refused in a line that says this, and stays as it is."""
    before = contents(directory)
    given = Input(["check", "--resume", str(directory)])
    code, out, err = run(given)
    assert wrong_with(code, out, err, given) is None
    assert (code, out) == (2, ""), err
    for part in said:
        assert part in err
    assert contents(directory) == before


def put(*keys: str | int, value: Any) -> Callable[[Manifest], None]:
    def change(manifest: Manifest) -> None:
        place: Any = manifest
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("facts", "layout", "packets"), 2**40, "at $.facts.layout.packets"),
        (("facts", "layout", "packets"), 2**39, "rows laid out for more than there is"),
        (("facts", "layout", "slots"), 10**9, "at $.facts.layout.slots"),
        (("facts", "layout", "slots"), 200, "rows of another width"),
        (("facts", "layout", "cells"), 1, "not what a search saves"),
        (("facts", "level"), "1", "expected int, got str, at $.facts.level"),
        (("facts", "level"), 10**30, "at $.facts.level"),
        (("facts", "level"), 50, "levels do not add up"),
        (("facts", "keep"), None, "at $.facts.keep"),
        (("facts", "result", "states"), 1, "do not add up"),
        (("facts", "result", "seconds"), float("inf"), "at $.facts.result.seconds"),
        (("facts", "result", "seconds"), float("nan"), "at $.facts.result.seconds"),
        (("facts", "result", "broken"), {"no such": 1}, "unknown properties or actions"),
        (("facts", "result", "broken"), {"fifo": 10**9}, "levels that it has not reached"),
        (("facts", "result", "broken"), {"fifo": 2}, "it says that a property is violated"),
        (("facts", "result", "levels"), [], "do not add up"),
        (("facts", "result", "reached"), [[]], "at $.facts.result.reached"),
        (("facts", "batches"), [1], "its log is not as long"),
        (("facts", "digest"), "0" * 64, "code is not what it was"),
        (("files", "log", "file"), "../outside", "names files of no search"),
        (("files", "log", "file"), "part-1-level-0.npy", "names files of no search"),
        (("files",), {}, "not the files of a search"),
        (("serial",), -1, "at $.serial"),
        (("made",), "yes", "at $.made"),
        (("question", "parameters"), [1], "expected object, got array, at $.parameters"),
        (("question", "processes"), "2", "expected int, got str"),
        (("question", "protocol"), "/tmp/x.py:Class", "is of /tmp/x.py:Class, a protocol of one's own"),
        (("question", "orders"), [[["x"]]], "at $.question"),
        (("question", "code"), "", "its code was then, and it has changed"),
        (("question", "program"), {"name": "x", "file": "/dev/zero", "sha256": ""}, "its program is not a file"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_a_forged_manifest_is_refused(keys: tuple[str, ...], value: Any, said: str, saved: Path) -> None:
    forge(saved, put(*keys, value=value))
    refused(saved, said)


def with_rows(directory: Path, change: Callable[[Any], Any]) -> None:
    path = directory / "part-1-level-0.npy"
    np.save(path, change(np.load(path)))
    forge(directory, lambda _: None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows | np.uint64(2**64 - 1), "not what a search saves"),
        (lambda rows: rows ^ np.uint64(1 << 63), "not what a search saves"),
        (lambda rows: rows[:-1], "marks for other rows"),
        (lambda rows: np.concatenate([rows, rows], axis=1), "rows of another width"),
        (lambda rows: rows.astype(np.float64), "damaged or missing"),
        (lambda rows: rows[:, 0], "damaged or missing"),
        (lambda rows: np.asfortranarray(np.concatenate([rows, rows], axis=1)), "damaged or missing"),
    ],
    ids=range(7),
)
def test_forged_rows_are_refused(change: Callable[[Any], Any], said: str, saved: Path) -> None:
    with_rows(saved, change)
    refused(saved, said)


@pytest.mark.parametrize("miss", [2**64 - 1, (2 << 62) | 5, (2 << 62) | (1 << 40), (1 << 62) | 99, 999 << 32])
def test_forged_entries_of_the_log_are_refused(miss: int, saved: Path) -> None:
    path = saved / "part-1-log.npy"
    log = np.load(path)
    log[-1] = miss
    np.save(path, log)
    forge(saved, lambda _: None)
    refused(saved, "code is not what it was")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("name", [MANIFEST, "part-1-log.npy", "part-1-level-0.npy"])
@pytest.mark.parametrize("become", [fifo, link, device, folder])
def test_only_regular_files_of_the_directory_are_read(become: Callable[[Path], None], name: str, saved: Path) -> None:
    become(saved / name)
    refused(saved, str(saved))


def test_a_new_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    directory = tmp_path / "saved"
    directory.mkdir()
    for name in (f"{MANIFEST}.partial", "part-1-log.npy", "part-1-level-0.npy"):
        (directory / name).symlink_to(victim)
    assert run_check(Check("rst", 2, 3), Limits(states=12), workers=1, checkpoint=directory).saved == directory
    assert victim.read_text() == "as it was"
    assert not any(path.is_symlink() for path in directory.iterdir())


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0b"])
def test_a_name_of_a_file_has_no_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="is not a name of a file"):
        open_regular(tmp_path, name)
    with create(tmp_path, "x") as file:
        file.write(b"1")
    with open_regular(tmp_path, "x") as opened:
        assert opened.read() == b"1"


def test_monitors_and_kernels_are_part_of_what_is_saved(saved: Path) -> None:
    with patch.object(saved_requests, "_package_digest", lambda: "other code"):
        refused(saved, "crownless, or the protocol, as its code was then, and it has changed")
    assert run_check(Check("rst", 2, 3), resume=saved).verdict == "holds"


def test_the_digest_of_the_code_covers_it() -> None:
    folders = {file.parent.name for file in saved_requests.code_files()}
    assert {"spec", "impl", "model_check", "native", "exploration"} <= folders
    names = {file.name for file in saved_requests.code_files()}
    assert {"monitors.py", "mask_kernels.py", "full_kernels.py", "clocks.py", "rst.py", "levels.py"} <= names
