"""Hostile files of our own formats: checkpoints of either engine and tables of costs, with digests computed anew."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fuzz_mutations import DEEP, HUGE, NAMES, Mutator
from fuzz_readers import MEMORY, Reader
from fuzz_verdicts import Input, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Forged(Reader):
    """Checkpoints, their digests computed anew so that nothing but their content is wrong."""

    name = "checkpoints"

    def prepare(self, directory: Path) -> None:
        from crownless.model_check.check import run_check
        from crownless.model_check.limits import Limits
        from crownless.model_check.request import Check, load_program

        outside = directory / "outside"
        outside.mkdir()
        (outside / "secret.npy").write_bytes(b"\x93NUMPY secret")
        self.outside = outside
        program = load_program("mf-fig1")
        checks = (
            (Check("rst", 2, 3), ()),
            (Check("kearns", 2, 2, channel="fifo"), ()),
            (Check("ses", 2, 3), ("symmetry",)),
            (Check("unordered", 2, 2, channel="duplicating", orders=("fifo", "synchronous")), ()),
            (Check("rst", 2, 3, clocks=("vector-times",)), ()),
            (Check("isis", 2, 3), ("order",)),
            (Check("rst", program=program), ()),
        )
        self.saved: list[tuple[dict[str, bytes], tuple[str, ...]]] = []
        for number, (check, reductions) in enumerate(checks):
            there = directory / f"base-{number}"
            verdict = run_check(check, reductions=reductions).verdict
            for states in (2, 12, 40):
                shutil.rmtree(there, ignore_errors=True)
                found = run_check(check, Limits(states=states), reductions=reductions, workers=2, checkpoint=there)
                if found.saved is not None:
                    files = {path.name: path.read_bytes() for path in there.iterdir()}
                    self.saved.append((files, ("violated",) * (verdict == "violated")))

    def sound(self, directory: Path) -> Iterator[Input]:
        for self.chosen, (files, violated) in enumerate(self.saved):  # noqa: B020
            there = directory / "saved"
            there.mkdir()
            for name, content in files.items():
                self._put(there, name, content, None)
            yield self.resume(there, violated)

    def make(self, random: Mutator, directory: Path) -> Input:
        self.chosen = random.randrange(len(self.saved))
        saved, violated = self.saved[self.chosen]
        files = dict(saved)
        there = directory / "saved"
        there.mkdir()
        manifest = json.loads(files.pop("manifest.json"))
        specials: dict[str, str] = {}
        content: bytes | None = None
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            what = random.randrange(8)
            name = random.choice(sorted(files))
            if what in (0, 1):
                part = random.choice(("facts", "facts", "question", "files", None))
                if part is None:
                    manifest = random.tree(manifest)
                elif isinstance(manifest, dict) and part in manifest:
                    manifest[part] = random.tree(manifest[part])
            elif what in (2, 3, 4):
                files[name] = self._forge_array(random, files[name])
            elif what == 5:
                specials[random.choice((name, "manifest.json"))] = random.choice(
                    ("fifo", "link", "directory", "zero", "gone")
                )
            elif what == 6:
                files[name] = random.mangled(files[name])
            elif isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) and manifest["files"]:
                key = random.choice(sorted(manifest["files"]))
                self._rename(
                    manifest["files"],
                    key,
                    random.choice(
                        (
                            "../outside/secret.npy",
                            str(self.outside / "secret.npy"),
                            "/dev/zero",
                            "manifest.json",
                            *sorted(files),
                        )
                    ),
                )
            if not isinstance(manifest, dict):
                break
        if isinstance(manifest, dict):
            self._sign(manifest, files)
        content = self._json(manifest)
        if random.random() < 0.03:
            content = random.mangled(content)
        for name, held in {**files, "manifest.json": content}.items():
            self._put(there, name, held, specials.get(name))
        return self.resume(there, violated)

    def resume(self, there: Path, violated: tuple[str, ...]) -> Input:
        arguments = ["check", "--resume", str(there), "--json", "--quiet", "--workers", "2", *MEMORY]
        return Input(arguments, violated=violated, untouched=there)

    def _rename(self, files: dict[str, Any], key: str, name: str) -> None:
        if isinstance(files[key], dict):
            files[key]["file"] = name

    def _json(self, manifest: Any) -> bytes:
        text = json.dumps(manifest, indent=1)
        return text.replace(f'"{HUGE}"', "9" * 5_000).replace(f'"{DEEP}"', "[" * 5_000 + "]" * 5_000).encode()

    def _sign(self, manifest: dict[str, Any], files: dict[str, bytes]) -> None:
        """Digests as a search would write them, of whatever is there."""
        import hashlib

        entries: Any = manifest.get("files")
        for name, entry in list(entries.items()) if isinstance(entries, dict) else ():
            held = files.get(str(entry.get("file")) if isinstance(entry, dict) else name)
            if held is not None:
                sha256 = hashlib.sha256(held).hexdigest()
                if isinstance(entry, dict):
                    entry["sha256"] = sha256
                else:
                    entries[name] = sha256
        manifest.pop("sha256", None)
        manifest["sha256"] = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()

    def _forge_array(self, random: Mutator, content: bytes) -> bytes:
        """Another number in an array, or another header."""
        end = content.find(b"\n") + 1
        header, words = content[:end], bytearray(content[end:])
        if random.random() < 0.2:
            old, new = random.choice(
                (
                    (rb"\(\d+,", b"(99999999,"),
                    (rb"\(\d+,", b"(0,"),
                    (b"<u8", b"<f8"),
                    (b"False", b"True "),
                    (b"<u8", b"|O8"),
                    (rb"\(\d+, ", b"(((((((("),
                )
            )
            return re.sub(old, new, header) + bytes(words)
        if random.random() < 0.1:
            return header + bytes(words[: len(words) // 16 * 8])
        for _ in range(random.choice((1, 1, 2, 5))):
            if len(words) < 8:
                break
            at = random.randrange(len(words) // 8) * 8
            word = int.from_bytes(words[at : at + 8], "little")
            word = (
                random.choice(
                    (
                        word ^ 1 << random.randrange(64),
                        word + 1,
                        word - 1,
                        2**64 - 1,
                        0,
                        random.getrandbits(64),
                        3 << 62 | 1,
                    )
                )
                % 2**64
            )
            words[at : at + 8] = word.to_bytes(8, "little")
        return header + bytes(words)

    def _put(self, there: Path, name: str, content: bytes, special: str | None) -> None:
        path = there / name
        if special == "fifo":
            os.mkfifo(path)
        elif special == "link":
            path.symlink_to(self.outside / "secret.npy")
        elif special == "zero":
            path.symlink_to("/dev/zero")
        elif special == "directory":
            path.mkdir()
        elif special != "gone":
            path.write_bytes(content)

    def cleanup(self, directory: Path) -> None:
        assert (self.outside / "secret.npy").read_bytes() == b"\x93NUMPY secret", "a file outside was written to"
        assert [path.name for path in self.outside.iterdir()] == ["secret.npy"], "a file outside was made"
        shutil.rmtree(directory / "saved", ignore_errors=True)


class ForgedOnSpark(Forged):
    """The same of what a search on Spark saves; its driver does so few rows itself, without Spark."""

    name = "levels"

    def prepare(self, directory: Path) -> None:
        from crownless.model_check.limits import Limits
        from crownless.model_check.request import Check

        self.outside = directory / "outside"
        self.outside.mkdir()
        (self.outside / "secret.npy").write_bytes(b"\x93NUMPY secret")
        self.saved = []
        self.checks: list[tuple[Any, tuple[str, ...]]] = [
            (Check("rst", 2, 3), ()),
            (Check("kearns", 2, 2, channel="fifo"), ()),
            (Check("ses", 2, 3), ("symmetry",)),
        ]
        self.check_of: list[int] = []
        self.common: dict[int, tuple[Any, Any, Any]] = {}
        for number in range(len(self.checks)):
            for states in (2, 12, 40):
                there = directory / f"base-{number}-{states}"
                self.search(number, there, resume=False, limits=Limits(states=states))
                if (there / "manifest.json").exists():
                    self.saved.append(({path.name: path.read_bytes() for path in there.iterdir()}, ()))
                    self.check_of.append(number)

    def ready(self, number: int) -> tuple[Any, Any, Any]:
        """What all searches of a check have in common."""
        from crownless.model_check.engines import engine_for

        check, reductions = self.checks[number]
        if number not in self.common:
            resolved = check.resolve()
            engine = engine_for(resolved, engine="native", reductions=reductions)
            self.common[number] = resolved, resolved.all_monitors(), engine
        return self.common[number]

    def search(self, number: int, there: Path, *, resume: bool, limits: Any = None) -> None:
        from crownless.model_check.native.saved_requests import request_of
        from crownless.model_check.native.search import NativeSearch
        from crownless.pipeline.exploration.manifest import manifest_in
        from crownless.pipeline.exploration.search import LevelsOnSpark

        resolved, monitors, engine = self.ready(number)
        with manifest_in(there, request_of(resolved, engine.reductions), resume=resume) as manifest:
            spark = cast("SparkSession", None)  # not needed for so few rows
            search = NativeSearch(
                resolved.machine,
                resolved.workload,
                resolved.channel_name,
                monitors,
                resolved.properties(),
                shared=engine.shared,
                reductions=engine.reductions,
                workers=2,
                levels=lambda search: LevelsOnSpark(search, spark, there, manifest),
            )
            found = search.explore(limits)
            if not found.stopped:
                manifest.remove()

    def resume(self, there: Path, violated: tuple[str, ...]) -> Input:
        number = self.check_of[self.chosen]
        return Input([], call=lambda: self.search(number, there, resume=True))

    def _rename(self, files: dict[str, Any], key: str, name: str) -> None:
        files[name] = files.pop(key)


class CostTables(Reader):
    """Tables of costs, as `cost --out` goes on with them."""

    name = "costs"
    arguments = ["cost", "rst", "-n", "2", "-m", "10", "--seeds", "2", "--quiet", *MEMORY, "--out"]

    def prepare(self, directory: Path) -> None:
        there = directory / "base"
        code, _, err = run(Input([*self.arguments, str(there)]))
        assert code == 0, err
        (file,) = there.glob("*.parquet")
        self.content, self.called = file.read_bytes(), file.name

    def sound(self, directory: Path) -> Iterator[Input]:
        there = directory / "table"
        there.mkdir()
        (there / self.called).write_bytes(self.content)
        yield Input([*self.arguments, str(there)])

    def make(self, random: Mutator, directory: Path) -> Input:
        from pyarrow import ArrowException, BufferReader, array, parquet

        there = directory / "table"
        there.mkdir()
        path = there / self.called
        what = random.randrange(8)
        if what == 0:
            os.mkfifo(path)
        elif what == 1:
            path.symlink_to(random.choice(("/dev/zero", "/etc/passwd", "nowhere")))
        elif what == 2:
            path.mkdir()
        elif what < 5:
            path.write_bytes(random.mangled(self.content))
        else:
            table = parquet.read_table(BufferReader(self.content))
            for _ in range(random.choice((1, 2))):
                at = random.randrange(table.num_columns)
                name = random.choice((table.column_names[at], table.column_names[at], random.choice(NAMES)))
                value = random.value()
                try:
                    column = array([value] * table.num_rows)
                    column = column.cast(table.schema.field(at).type) if random.random() < 0.6 else column
                    table = table.set_column(at, name, column)
                except (ArrowException, OverflowError, UnicodeEncodeError):
                    table = table.remove_column(at)
            try:
                parquet.write_table(table, path)
            except (ArrowException, UnicodeEncodeError):
                path.write_bytes(random.mangled(self.content))
        return Input([*self.arguments, str(there), *["--json"] * random.randrange(2)], violated=("breaks", "broken"))

    def cleanup(self, directory: Path) -> None:
        shutil.rmtree(directory / "table", ignore_errors=True)
