"""Hostile inputs for everything that crownless reads, and what must not come of them.

    python tests/fuzz_inputs.py                       # 100,000 inputs a reader
    python tests/fuzz_inputs.py show logs --count 500 # some readers, fewer inputs
    python tests/fuzz_inputs.py show --first 1234 --count 1 --keep /tmp/x   # one input again, with its files

An input follows from its reader's name and its number alone, so what is found is found again. The inputs run in child
processes, which tell where they are: one that crashes or hangs is a finding too, and the next child goes on behind it.
`test_fuzz.py` runs some of each.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
COUNT = 100_000
#: Seconds that one input may take; a child that is silent for longer is ended.
SECONDS = 20
MOST_FINDINGS = 20

HUGE, DEEP = "@huge@", "@deep@"
NAMES = (
    "", " ", "\x1b[31mred", "\x1b]0;title\x07", "\u202eabc", "a\nb", "a\rb", "\u200b", "\ufeff", "\ud800",
    "\udcff", "\x00", "\x9b2J", "[red]x[/red]", "[/]", ":smile:", "x" * 5_000, "漢字" * 40, "e\u0301\u0301\u0301",
    "\u0301", "P1", "m1", "../outside/file", "/etc/passwd", "{0.__class__}", "%s%n", "\u3164", "\U0001f600", "null",
    "ＡＢ",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    -1, 0, 1, 2, 3, 7, 255, 4_096, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63),
    0.5, -0.0, 1e308, float("nan"), float("inf"), HUGE,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": {}}, [None] * 3, DEEP)


class Mutator(random.Random):
    """Makes one hostile input."""

    def value(self) -> Any:
        return self.choice(self.choice((NAMES, NUMBERS, OTHERS)))

    def mangled(self, content: bytes) -> bytes:
        """Flips, cuts, splices."""
        changed = bytearray(content)
        for _ in range(self.choice((1, 1, 1, 2, 4, 16))):
            at = self.randrange(len(changed) + 1)
            to = min(len(changed), at + self.choice((1, 2, 8, 64)))
            what = self.randrange(7)
            if what == 0 and at < len(changed):
                changed[at] ^= 1 << self.randrange(8)
            elif what == 1:
                del changed[at:]
            elif what == 2:
                del changed[at:to]
            elif what == 3:
                changed[at:at] = changed[at:to] * self.choice((1, 2, 50))
            elif what == 4:
                changed[at:to] = self.randbytes(to - at)
            elif what == 5:
                changed[at:at] = self.choice(NAMES).encode("utf-8", "surrogatepass")
            else:
                start = self.randrange(len(changed) + 1)
                changed[at:at] = changed[start : start + self.choice((1, 10, 100))]
        return bytes(changed)

    def text(self, content: str) -> bytes:
        """The same, also word by word."""
        if self.random() < 0.4:
            return self.mangled(content.encode())
        words = re.split(r"(\W)", content)
        for _ in range(self.choice((1, 1, 2, 5))):
            at = self.randrange(len(words))
            words[at] = self.choice(
                (
                    self.choice(NAMES),
                    self.choice(words),
                    words[at] * 2,
                    "",
                    "\n",
                    "\r\n",
                    ";",
                    ":",
                    "…",
                    "send",
                    "to",
                    "from",
                )
            )
        return "".join(words).encode("utf-8", "surrogatepass")

    def tree(self, value: Any) -> Any:
        """A JSON value with a few places changed; the value itself stays as it is."""
        changed = json.loads(json.dumps(value))
        for _ in range(self.choice((1, 1, 1, 2, 3))):
            places = list(_places(changed))
            if not places:
                return self.value()
            holder, key = self.choice(places)
            what = self.randrange(6)
            if what == 0:
                del holder[key]
            elif what == 1 and isinstance(holder, list):
                holder.insert(key, holder[self.randrange(len(holder))])
            elif what == 2 and isinstance(holder, dict):
                holder[self.choice(NAMES)] = holder.pop(key)
            elif what == 3 and type(holder[key]) is int:
                holder[key] += self.choice((-1, 1, 2, 64, 1 << 32))
            elif what == 4:
                other, at = self.choice(places)
                holder[key] = json.loads(json.dumps(other.get(at) if isinstance(other, dict) else holder[key]))
            else:
                holder[key] = self.value()
        return changed

    def json(self, value: Any, indent: int | None = None) -> bytes:
        """JSON of the changed value, perhaps with a number too long, a nesting too deep, or bytes changed."""
        if self.random() < 0.15:
            return self.mangled(json.dumps(value, indent=indent).encode())
        text = json.dumps(self.tree(value), indent=indent, ensure_ascii=self.random() < 0.5)
        text = text.replace(f'"{HUGE}"', "9" * 5_000).replace(f'"{DEEP}"', "[" * 20_000 + "]" * 20_000)
        if self.random() < 0.05:
            text = "\ufeff" + text
        return text.encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: what holds it, and where."""
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, part in items:
        yield value, key
        yield from _places(part)


# -- one input ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """Arguments of the command, and which exit codes are right beside 2."""

    arguments: list[str]
    allowed: frozenset[int] = frozenset({0, 3})
    #: 1 is right if the output says one of these.
    violated: tuple[str, ...] = ()
    #: A directory in which nothing changes where the exit code is 2.
    untouched: Path | None = None
    #: What is done in place of the command.
    call: Callable[[], None] | None = None


class Hang(BaseException):
    """An input takes too long."""


def run(given: Input) -> tuple[int | str, str, str]:
    """The exit code (or what was raised), what was printed, and what was said."""
    from crownless.command_line import main
    from crownless.command_line.endings import say
    from crownless.spec.errors import BadInput

    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    code: int | str
    try:
        with _watched():
            if given.call is None:
                main(given.arguments)
                code = "main returned"
            else:
                given.call()
                code = 0
    except BadInput as error:
        code = 2 if given.call is not None else repr(error)
        say(str(error))
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else repr(exit_.code)
    except Hang:
        code = f"more than {SECONDS} seconds"
    except BaseException as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where is not None else ""
        code = f"{type(error).__name__} at {place}: {str(error)[:200]}"
    finally:
        sys.stdout, sys.stderr = before
    out, err = (stream.buffer.getvalue().decode("utf-8", "backslashreplace") for stream in streams)
    return code, out, err


@contextmanager
def _watched() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def wrong_with(code: int | str, out: str, err: str, given: Input) -> str | None:
    """What must not have come of an input; None if all is well."""
    from crownless.spec.printable import is_shown

    if isinstance(code, str):
        return code
    if code not in given.allowed | {1, 2}:
        return f"exit code {code}: {err[-300:]}"
    if code == 1 and not any(word in out for word in given.violated):
        return f"exit code 1, and nothing is violated: {err[-300:]}"
    if "Traceback" in err:
        return f"a traceback: {err[-300:]}"
    *notes, last = err.splitlines() or [""]
    told = last.startswith("crownless: ") and all(note.startswith("crownless: not run, ") for note in notes)
    if code == 2 and not (told and err.endswith("\n")):
        return f"not one line: {err[:300]!r}"
    if code == 2 and len(err) > 5_000:
        return f"a line of {len(err)} characters"
    for character in {*out, *err} - {"\n"}:
        if not is_shown(character):
            return f"prints {character!r}"
    return None


class Reader:
    """Makes inputs of one kind in a directory; `examples` are sound ones, made once."""

    name: str

    def prepare(self, directory: Path) -> None:
        """Makes what all inputs start from."""

    def make(self, random: Mutator, directory: Path) -> Input:
        raise NotImplementedError

    def cleanup(self, directory: Path) -> None:
        """After each input."""


def figures(suffix: str) -> list[str]:
    from crownless.spec import library

    return [library.path(name, suffix).read_text("utf-8") for name in library.names(suffix)]


class Computations(Reader):
    name = "computations"

    def prepare(self, directory: Path) -> None:
        self.texts = [text for text in figures(".txt") if len(text) < 2_000]

    def make(self, random: Mutator, directory: Path) -> Input:
        (directory / "c.txt").write_bytes(random.text(random.choice(self.texts)))
        json_ = ["--json"] * random.randrange(2)
        return Input(["classify", str(directory / "c.txt"), *json_], violated=("broken",))


class Programs(Computations):
    name = "programs"

    def make(self, random: Mutator, directory: Path) -> Input:
        (directory / "p.txt").write_bytes(random.text(random.choice(self.texts)))
        arguments = ["check", "unordered", "--program", str(directory / "p.txt"), "--engine", "plain"]
        return Input([*arguments, "--max-states", "20", "--max-seconds", "2", "--quiet"], violated=("violated",))


class Shown(Reader):
    name = "show"

    def prepare(self, directory: Path) -> None:
        from crownless.spec import library

        self.runs = [
            json.loads(library.path(name, ".json").read_text("utf-8")) for name in library.counterexamples(".json")
        ]

    def make(self, random: Mutator, directory: Path) -> Input:
        (directory / "run.json").write_bytes(random.json(random.choice(self.runs), random.choice((None, 2))))
        options = random.choice(([], ["--json"], ["--ascii"]))
        return Input(["show", str(directory / "run.json"), *options])


class Logs(Reader):
    name = "logs"

    def prepare(self, directory: Path) -> None:
        self.logs = [[json.loads(line) for line in text.splitlines()] for text in figures(".jsonl")]

    def make(self, random: Mutator, directory: Path) -> Input:
        rows = random.choice(self.logs)
        lines = [json.dumps(row).encode() for row in rows]
        for _ in range(random.choice((1, 1, 2, 4))):
            at = random.randrange(len(lines)) if lines else 0
            what = random.randrange(6)
            if not lines or what == 0:
                lines.append(random.json(random.choice(rows)))
            elif what == 1:
                del lines[at]
            elif what == 2:
                lines.insert(at, random.choice(lines))
            elif what == 3:
                random.shuffle(lines)
            else:
                lines[at] = random.json(rows[at % len(rows)])
        content = b"\n".join(lines)
        (directory / "log.jsonl").write_bytes(random.mangled(content) if random.random() < 0.1 else content)
        json_ = ["--json"] * random.randrange(2)
        return Input(["classify", str(directory / "log.jsonl"), *json_], violated=("broken",))


class Settings(Reader):
    name = "settings"

    def make(self, random: Mutator, directory: Path) -> Input:
        sound = random.choice(("output=2", "k=5", "input=1", "rounds=1,0", "output=1,2,3"))
        setting = random.text(sound).decode("utf-8", "surrogateescape")
        if random.random() < 0.3:
            setting = f"{random.choice(('k', 'output', random.choice(NAMES)))}={random.value()}".replace(
                HUGE, "9" * 5_000
            )
        protocol = random.choice(("buffer-bounded", "extra-messages", "isis-gc", "rst"))
        arguments = [
            "check",
            protocol,
            "-n",
            "2",
            "-m",
            "1",
            "--engine",
            "plain",
            "--max-states",
            "20",
            "--set",
            setting,
        ]
        return Input(arguments, violated=("violated",))


class Arguments(Reader):
    name = "arguments"

    def make(self, random: Mutator, directory: Path) -> Input:
        sound = random.choice(
            (
                ["check", "rst", "-n", "2", "-m", "1", "--engine", "plain", "--max-states", "9", "--order", "fifo"],
                ["check", "rst", "-n", "2", "-m", "1", "--channel", "fifo", "--sends", "unicast", "--engine", "plain"],
                ["check", "rst", "--program", "mf-fig1", "--engine", "plain", "--clock", "lamport-times"],
                ["classify", "mf-fig1", "--order", "causal", "--unreceived", "lost"],
                ["show", "mf-fig1", "--json"],
                ["realize", "rst", "-n", "2", "-m", "1"],
                ["count", "-n", "2", "-m", "1"],
                ["list"],
            )
        )
        words = list(sound)
        for _ in range(random.choice((1, 1, 2, 3))):
            at = random.randrange(len(words))
            what = random.randrange(4)
            if what == 0:
                del words[at]
            elif what == 1:
                words.insert(at, words[random.randrange(len(words))] if words else "")
            elif words[at - 1] not in ("-n", "-m"):
                value = random.value()
                words[at] = str(value).replace(HUGE, "9" * 5_000) if random.random() < 0.5 else random.choice(NAMES)
            else:
                words[at] = random.choice(("0", "-1", "x", "1" * 5_000, "2", "1.5", "", "٣"))
            if not words:
                break
        words = [word.replace("\0", "") for word in words]  # no argument of a process can hold it
        if words[:1] and words[0] in ("check", "realize", "count") and not {"-n", "-m", "--program"} & {*words}:
            words.append("--help")  # the defaults are no smaller
        return Input(words, violated=("violated", "broken", "no"))


class Forged(Reader):
    """Checkpoints, their digests computed anew so that nothing but their content is wrong."""

    name = "checkpoints"

    def prepare(self, directory: Path) -> None:
        from crownless.model_check.asking import Check, load_program
        from crownless.model_check.checking import run_check
        from crownless.model_check.limits import Limits

        outside = directory / "outside"
        outside.mkdir()
        (outside / "secret.npy").write_bytes(b"\x93NUMPY secret")
        self.outside = outside
        program, name = load_program("mf-fig1")
        checks = (
            (Check("rst", 2, 3), ()),
            (Check("kearns", 2, 2, channel="fifo"), ()),
            (Check("ses", 2, 3), ("symmetry",)),
            (Check("unordered", 2, 2, channel="duplicating", orders=("fifo", "synchronous")), ()),
            (Check("rst", 2, 3, clocks=("vector-times",)), ()),
            (Check("isis", 2, 3), ("order",)),
            (Check("rst", program=program, program_name=name), ()),
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
        return Input(
            ["check", "--resume", str(there), "--json", "--quiet", "--workers", "2"], violated=violated, untouched=there
        )

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
        from crownless.model_check.asking import Check
        from crownless.model_check.limits import Limits

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
        for number, (check, reductions) in enumerate(self.checks):
            for states in (2, 12, 40):
                there = directory / f"base-{number}-{states}"
                self.search(check, reductions, there, resume=False, limits=Limits(states=states))
                if (there / "manifest.json").exists():
                    self.saved.append(({path.name: path.read_bytes() for path in there.iterdir()}, ()))
                    self.check_of.append(number)

    def search(self, check: Any, reductions: tuple[str, ...], there: Path, *, resume: bool, limits: Any = None) -> None:
        from crownless.model_check.asking import Asked
        from crownless.model_check.engines import engine_for
        from crownless.model_check.native.questions import question_of
        from crownless.model_check.observers import observers_of
        from crownless.model_check.properties import properties_of
        from crownless.pipeline.exploration.manifest import manifest_in
        from crownless.pipeline.exploration.search import SparkSearch

        asked = Asked.by(check)
        observers = observers_of(asked.machine, asked.orders)
        engine = engine_for(check, asked, observers, engine="native", reductions=reductions)
        with manifest_in(there, question_of(check, asked, engine.reductions), resume=resume) as manifest:
            search = SparkSearch(
                asked.machine,
                asked.workload,
                asked.channel_name,
                observers,
                properties_of(asked.machine, asked.orders, program=False),
                shared=engine.shared,
                reductions=engine.reductions,
                workers=2,
                spark=cast("SparkSession", None),  # not needed for so few rows
                directory=there,
                manifest=manifest,
            )
            found = search.explore(limits)
            if not found.stopped:
                manifest.remove()

    def make(self, random: Mutator, directory: Path) -> Input:
        super().make(random, directory)
        check, reductions = self.checks[self.check_of[self.chosen]]
        there = directory / "saved"
        return Input([], call=lambda: self.search(check, reductions, there, resume=True))

    def _rename(self, files: dict[str, Any], key: str, name: str) -> None:
        files[name] = files.pop(key)


class CostTables(Reader):
    """Tables of costs, as `cost --out` goes on with them."""

    name = "costs"
    asked = ["cost", "rst", "-n", "2", "-m", "10", "--seeds", "2", "--quiet", "--out"]

    def prepare(self, directory: Path) -> None:
        there = directory / "base"
        code, _, err = run(Input([*self.asked, str(there)]))
        assert code == 0, err
        (file,) = there.glob("*.parquet")
        self.content, self.called = file.read_bytes(), file.name

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
        return Input([*self.asked, str(there), *["--json"] * random.randrange(2)], violated=("breaks", "broken"))

    def cleanup(self, directory: Path) -> None:
        shutil.rmtree(directory / "table", ignore_errors=True)


READERS: dict[str, Callable[[], Reader]] = {
    kind.name: kind
    for kind in (Computations, Programs, Shown, Logs, Settings, Arguments, Forged, ForgedOnSpark, CostTables)
}


def contents(directory: Path) -> dict[str, Any]:
    """What is in a directory, so that a change shows."""
    return {
        path.name: path.read_bytes() if path.is_file() and not path.is_symlink() else path.lstat().st_ino
        for path in directory.iterdir()
    }


def one(reader: Reader, number: int, directory: Path) -> str | None:
    """Runs an input; what was wrong."""
    given = reader.make(Mutator(f"{reader.name} {number}"), directory)
    before = None if given.untouched is None else contents(given.untouched)
    code, out, err = run(given)
    wrong = wrong_with(code, out, err, given)
    if wrong is None and given.untouched is not None and code == 2 and contents(given.untouched) != before:
        wrong = "what was saved is no longer what it was"
    try:
        reader.cleanup(directory)
    except AssertionError as error:
        wrong = str(error)
    return wrong


def fuzz_here(name: str, first: int, count: int, tell: Callable[[int], None] = lambda number: None) -> list[str]:
    """Runs so many inputs in this process; what was wrong, each with its number."""
    findings: list[str] = []
    reader = READERS[name]()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        directory = Path(folder)
        reader.prepare(directory)
        for number in range(first, first + count):
            tell(number)
            wrong = one(reader, number, directory)
            if wrong is not None:
                findings.append(f"{name} {number}: {wrong}")
                if len(findings) >= MOST_FINDINGS:
                    break
    return findings


def fuzz(name: str, first: int, count: int) -> list[str]:
    """The same in child processes: one that crashes or hangs is a finding, and another goes on behind it."""
    findings: list[str] = []
    end = first + count
    while first < end and len(findings) < MOST_FINDINGS:
        at, said, code = _child(name, first, end - first)
        findings += said
        if code == 0:
            break
        findings.append(f"{name} {at}: the process ended with {code}")
        first = at + 1
    return findings


def _child(name: str, first: int, count: int) -> tuple[int, list[str], int | str]:
    command = [
        sys.executable,
        str(HERE / "fuzz_inputs.py"),
        name,
        "--child",
        "--first",
        str(first),
        "--count",
        str(count),
    ]
    with tempfile.TemporaryFile("w+") as told, tempfile.TemporaryFile("w+") as place:
        child = subprocess.Popen(command, stdout=told, stderr=place)
        seen, since = -1, time.monotonic()
        while child.poll() is None:
            time.sleep(0.05)
            size = os.fstat(place.fileno()).st_size
            if size != seen:
                seen, since = size, time.monotonic()
            elif time.monotonic() - since > 3 * SECONDS:
                child.kill()
        told.seek(0)
        place.seek(0)
        numbers = [int(line) for line in place.read().splitlines() if line.isdigit()]
        return numbers[-1] if numbers else first, told.read().splitlines(), child.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"{', '.join(READERS)}; default: all")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--count", type=int, default=COUNT, help="how many inputs of each reader")
    parser.add_argument(
        "--keep", type=Path, help="only make the first input, in this new directory, and print its command"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.readers or list(READERS)
    if given.keep is not None:
        given.keep.mkdir()
        reader = READERS[names[0]]()
        reader.prepare(given.keep)
        print(reader.make(Mutator(f"{names[0]} {given.first}"), given.keep).arguments)
        return 0
    if given.child:
        for finding in fuzz_here(
            names[0], given.first, given.count, lambda number: print(number, file=sys.stderr, flush=True)
        ):
            print(finding.encode("unicode_escape").decode())
        return 0
    failed = 0
    for name in names:
        started = time.monotonic()
        findings = fuzz(name, given.first, given.count)
        print(
            f"{name}: {given.count:,} inputs, {len(findings)} findings, {time.monotonic() - started:.0f} s", flush=True
        )
        for finding in findings:
            print(f"  {finding}", flush=True)
        failed += len(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
