"""Mutated inputs: whatever a file or an argument holds, it is answered, or refused in one line with exit code 2."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_line_runner import Input, run_hostile, wrong_with
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_files import PATTERN, Row, clocked, content_of, event

from crownless.spec import library

EXAMPLES = Path(__file__).parents[3] / "examples" / "logs"
#: So that no input runs for long, or asks how much memory there is.
LIMITS = ("--max-memory", "8G", "--max-seconds", "5")
CHECK = ("--engine", "plain", "--max-states", "9", *LIMITS)
#: Values of JSON, and words, that replace others.
VALUES = (
    *("null", "true", "[]", "{}", '""', "0", "-1", "1.5", "1e400", "NaN", "9" * 30, "9" * 5_000, "[" * 5_000),
    *('"\\ud800"', '"\\u001b[31m"', '"\\u202e"', '"P1"', '"' + "x" * 5_000 + '"', '[["P1"]]', '{"": {}}', '"a\\nb"'),
)  # fmt: skip
WORDS = (
    *("\x1b[31mred", "\u202eabc", "\ufeff", "\x00", "[red]x[/red]", "漢字" * 40, "e\u0301"),
    *("send", "to", ";", ":", "…"),
)

MULTICAST = [
    event("P1", 0, "send", "x", ["P2", "P3"], run="r"),
    event("P1", 1, "send", "y", "P2", run="r"),
    event("P2", 0, "deliver", "y", "P1", run="r"),
    event("P2", 1, "deliver", "x", run="r"),
    event("P3", 0, "deliver", "x", "P1", run="r"),
    event("P3", 1, "internal", None, run="r"),
]
UNNAMED: list[Row] = [{key: row[key] for key in row if key != "message"} for row in MULTICAST if row["kind"] == "send"]
CLOCKED = [{**row, "clock": clock} for row, clock in zip(MULTICAST, clocked(MULTICAST), strict=True)]
#: More rows than the specification decides alone.
LARGE = [{**row, "run": f"r{k}"} for k in range(850) for row in MULTICAST]
SHIVIZ = (EXAMPLES / "events.shiviz").read_bytes()
KINDS = ("--kind", "odd=deliver", "--kind", "none=send")

#: The file that is changed, and the commands that read it.
SOUND: dict[str, tuple[str, bytes, Sequence[Sequence[str]]]] = {
    "computation": ("c.txt", library.path("mf-fig8").read_bytes(), [("classify", *LIMITS), ("show",)]),
    "program": ("p.txt", library.path("mf-fig1").read_bytes(), [("check", "unordered", *CHECK, "--program")]),
    "saved run": ("r.json", library.path("counterexample-mg17", ".json").read_bytes(), [("show",), ("show", "--json")]),
    "json lines": ("l.jsonl", content_of(MULTICAST, ".jsonl"), [("classify",), ("classify", *KINDS), ("show",)]),
    "csv": ("l.csv", content_of(MULTICAST, ".csv"), [("classify",), ("classify", "--one-run"), ("classify", *KINDS)]),
    "parquet": ("l.parquet", content_of(MULTICAST, ".parquet"), [("classify",), ("classify", "--one-run")]),
    "arrow": ("l.arrow", content_of(MULTICAST, ".arrow"), [("classify",), ("classify", "--one-run")]),
    "arrow stream": ("l.arrows", content_of(MULTICAST, ".arrows"), [("classify",), ("classify", "--one-run")]),
    "compressed": ("l.csv.zst", content_of(MULTICAST, ".csv.zst"), [("classify",), ("classify", "--one-run")]),
    "large": ("l.jsonl", content_of(LARGE, ".jsonl"), [("classify", *LIMITS)]),
    "one run": ("l.jsonl", content_of(MULTICAST, ".jsonl"), [("classify", "--one-run")]),
    "complete": ("l.jsonl", content_of(MULTICAST, ".jsonl"), [("classify", "--complete")]),
    "without names": ("l.jsonl", content_of(UNNAMED, ".jsonl"), [("classify", "--match")]),
    "clocks": ("l.jsonl", content_of(CLOCKED, ".jsonl"), [("classify", "--clocks")]),
    "shiviz": ("l.shiviz", SHIVIZ, [("classify",), ("classify", "--pattern", PATTERN)]),
    "otlp": ("l.otlp", (EXAMPLES / "events.otlp").read_bytes(), [("classify",), ("classify", "--complete")]),
    "itf": ("l.itf.json", (EXAMPLES / "events.itf.json").read_bytes(), [("classify",), ("classify", "--complete")]),
}  # fmt: skip
FEW = {"large": 10}


@st.composite
def mutated(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with values, words, lines or bytes changed."""
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from(["value", "value", "key", "line", "cut", "double", "bytes", "word"]))
        values = [*re.finditer(rb'(?<=[:,\[] )("[^"\n]*"|-?[0-9.]+|null)(?=[,\]} \n])|(?<=[,;\t])[^,;\t\n]+', content)]
        if how == "value" and values:
            old, other = draw(st.sampled_from(values)), draw(st.sampled_from(values))
            new = draw(st.sampled_from([*(value.encode() for value in VALUES), other[0]]))
            content = content[: old.start()] + new + content[old.end() :]
        elif how == "key" and (keys := re.findall(rb'"[A-Za-z#]+":', content)):
            content = content.replace(draw(st.sampled_from(keys)), draw(st.sampled_from([b'"x":', *keys])), 1)
        elif how == "line":
            lines = content.split(b"\n")
            at = draw(st.integers(0, len(lines) - 1))
            lines[at : at + 1] = [lines[at]] * draw(st.sampled_from([0, 2]))
            content = b"\n".join(lines)
        else:
            at = draw(st.integers(0, len(content)))
            past = min(len(content), at + draw(st.sampled_from([0, 1, 8, 60])))
            by = {"double": content[at:past] * 2, "bytes": draw(st.binary(max_size=8))}
            by["word"] = draw(st.sampled_from(WORDS)).encode()
            content = content[:at] + by.get(how, b"") + content[past:]
    return content


def check(arguments: Sequence[str]) -> int:
    given = Input([*arguments], frozenset({0, 3}), ("violated", "impossible"))
    code, out, err = run_hostile(given)
    assert wrong_with(code, out, err, given) is None, (arguments, code, err)
    return int(code)


@pytest.mark.parametrize("name", SOUND)
def test_a_mutated_file_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    file, content, commands = SOUND[name]
    path = tmp_path / file
    for command in commands:
        path.write_bytes(content)
        assert check([*command, str(path)]) != 2, "a sound file is refused"

    @settings(max_examples=FEW.get(name, 60), suppress_health_check=[*HealthCheck], database=None)
    @given(mutated(content), st.sampled_from(commands))
    def changed(mutant: bytes, command: Sequence[str]) -> None:
        path.write_bytes(mutant)
        check([*command, str(path)])
        assert [one.name for one in tmp_path.iterdir()] == [file]

    changed()


@settings(max_examples=300, suppress_health_check=[*HealthCheck], database=None)
@given(st.data())
def test_mutated_arguments_are_answered_or_refused_in_one_line(data: st.DataObject) -> None:
    commands = (
        "check rst -n 2 -m 1 --order fifo --set k=5",
        "check buffer-bounded -n 2 -m 1 --channel fifo --sends unicast --set output=2",
        "classify mf-fig1 --order causal --unreceived lost",
        "show mf-fig1 --json",
        "realize rst -n 2 -m 1",
        "count -n 2 -m 1",
        "list orders",
    )
    words = data.draw(st.sampled_from(commands)).split()
    at = data.draw(st.integers(1, len(words) - 1))
    if words[at - 1] in ("-n", "-m"):
        words[at] = data.draw(st.sampled_from(["0", "-1", "x", "1.5", "", "٣", "9" * 5_000]))
    elif words[at] not in ("-n", "-m"):
        changed = [*WORDS, *(json.dumps(value) for value in VALUES), words[at] * 2, "", "--", "-"]
        words[at : at + 1] = [data.draw(st.sampled_from(changed)).replace("\0", "")][: data.draw(st.integers(0, 2))]
    limits = {"check": CHECK, "realize": LIMITS, "count": LIMITS, "classify": LIMITS}.get(words[0], ())
    given = Input([words[0], *limits, *words[1:]], frozenset({0, 3}), ("violated", "no"))
    code, out, err = run_hostile(given)
    assert wrong_with(code, out, err, given) is None, (words, code, err)
