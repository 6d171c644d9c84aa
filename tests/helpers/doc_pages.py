"""The pages of `docs/`: their blocks, run in order in a folder of their own, with the output that each prints now.

    ```python title="mine.py"     is written to that file; so is text or JSON with a title
    ```python                     is run, in one namespace a page
    ```pycon                      is run, and prints what stands below each `>>>`
    ```console                    each `$` command is run in a shell's place, and prints what stands below it

Other blocks are prose. `tests/helpers/goldens.py` writes the outputs into the pages.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from goldens import timeless

ROOT = Path(__file__).parents[2]
#: Pages whose blocks are run, as a reader meets them.
PAGES = (
    "index",
    "diagrams",
    "tutorial",
    "concepts",
    "own_protocol",
    "proving",
    "in_tests",
    "conformance",
    "ci",
    "python",
    "notebooks",
    "command_line",
    "notation",
    "errors_in_the_papers",
    "knobs",
)
#: Pages whose blocks start Spark.
PAGES_ON_SPARK = ("event_logs",)
_FENCED = re.compile(
    r'^```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<body>.*?)^```$', re.DOTALL | re.MULTILINE
)
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
#: What the commands see of the environment. The rest may change what they print: pytest shortens no line if CI is set.
_OF_A_SHELL = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "JAVA_HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR")
#: An installation that is older than the plugin has no entry point for it.
PLUGIN = [] if entry_points(group="pytest11", name="crownless") else ["-p", "crownless.testing.plugin"]
_PROGRAMS = {
    "crownless": [sys.executable, "-m", "crownless"],
    "python": [sys.executable],
    "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PLUGIN],
}


def page(name: str) -> Path:
    return ROOT / "docs" / f"{name}.md"


def run_page(text: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Runs the blocks of a page in the folder; yields each as it stands, and as it would stand with the output it
    prints now, and the text of the page between it and the block before.
    """
    namespace: dict[str, Any] = {"__name__": "page"}
    end = 0
    for found in _FENCED.finditer(text):
        between, end = text[end : found.start()], found.end()
        yield found[0], found[0].replace(found["body"], _now(found, folder, namespace)), between


def _now(found: re.Match[str], folder: Path, namespace: dict[str, Any]) -> str:
    body = found["body"]
    if found["title"]:
        (folder / found["title"]).write_text(body, "utf-8")
    elif found["language"] == "console":
        return _COMMAND.sub(lambda line: f"$ {line['command']}\n{printed_in(folder, line['command'])}", body)
    elif found["language"] == "pycon":
        return "".join(_examples(body, folder, namespace))
    elif found["language"] == "python":
        with contextlib.chdir(folder):
            exec(compile(body, "page", "exec"), namespace)
    return body


def printed_in(folder: Path, command: str) -> str:
    """What the command prints, seen from the folder."""
    program, *arguments = shlex.split(command)
    environment = {
        **{name: os.environ[name] for name in _OF_A_SHELL if name in os.environ},
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)]),
        "PYTHONIOENCODING": "utf-8",
        "COLUMNS": "80",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
    }
    done = subprocess.run(
        [*_PROGRAMS[program], *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return normalised(done.stdout, folder)


def _examples(body: str, folder: Path, namespace: dict[str, Any]) -> Iterator[str]:
    for example in doctest.DocTestParser().get_examples(body):
        prompt = "".join(
            f"{'...' if k else '>>>'} {line}".rstrip() + "\n" for k, line in enumerate(example.source.splitlines())
        )
        output = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(output):
            exec(compile(example.source, "page", "single"), namespace)
        yield prompt + normalised(output.getvalue(), folder)


def normalised(text: str, folder: Path) -> str:
    """The text without the folder's own name, without lines that end in blanks, without the time that pytest took, and
    without progress, which only a slow machine prints.
    """
    text = re.sub(r"^crownless: .* (different inputs?|random runs?).*, \d+ s\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(\d+ (?:passed|failed).*) in \d+\.\d+s.*$", r"\1", text.replace(f"{folder}/", ""), flags=re.M)
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def rewrite_pages(names: Iterable[str] = (*PAGES, *PAGES_ON_SPARK)) -> None:
    """Puts what the blocks print now into the pages; what differs only in seconds is left alone."""
    for name in names:
        text, written = page(name).read_text("utf-8"), ""
        end = 0
        with tempfile.TemporaryDirectory() as folder, importable_from(Path(folder)):
            for block, now, between in run_page(text, Path(folder)):
                written += between + (block if timeless(now) == timeless(block) else now)
                end += len(between) + len(block)
        page(name).write_text(written + text[end:], "utf-8")


@contextlib.contextmanager
def importable_from(folder: Path) -> Iterator[None]:
    """Modules in the folder can be imported, and are forgotten afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
