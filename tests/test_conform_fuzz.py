"""Whatever bytes nodes answer with, there is a verdict: the lines of right nodes, mutated."""

from __future__ import annotations

import json
import select
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import Any

import pytest

from crownless.model_check.conformance import out_of_process
from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.line_forms import FORMS, Form, FormName
from crownless.model_check.conformance.node import FAILURES, NodeLimits
from crownless.model_check.conformance.node_process import NodeProcess
from crownless.model_check.conformance.out_of_process import OutOfProcess, closing

#: Lines that are put among others.
STRANGE = [
    b"",
    b"ok",
    b"ok 1-2.1",
    b'{"type": "ok", "state": [1, 2]}',
    b"packet 1 x",
    b"packet 0 1-2.1",
    b"packet 999999999999 x",
    b"packet  x",
    b"packet",
    b"deliver 1-2.1",
    b"deliver 2-1.1",
    b"deliver",
    b"queued 1-2.1",
    b"sent 1-2.1",
    b"sent 2-1.1",
    b"queued 2-1.1",
    b"\xff\xfe",
    b"\x00",
    b"{}",
    b"[]",
    b'{"type": "ok"}',
    b'{"type": ["ok"]}',
    b'{"type": "packet", "to": 1, "body": NaN}',
    b'{"type": "packet", "to": 1e9, "body": 1}',
    b'{"type": "packet", "to": ' + b"9" * 5000 + b', "body": 1}',
    b'{"type": "packet", "to": ' + b"9" * 900 + b', "body": 1}',
    b'{"type": "packet", "to": true, "body": 1}',
    b'{"type": "packet", "to": 1, "body": ' + b"[" * 900 + b"]" * 900 + b"}",
    b'{"type": "packet", "to": 1, "body": ' + b"[" * 90000 + b"]" * 90000 + b"}",
    b'{"type": "packet", "to": 1, "body": "\\ud800"}',
    b'{"type": "deliver", "message": "\\ud800"}',
    b'{"type": "deliver", "message": 7}',
    b'{"type": "sent", "message": "1-2.1"}',
    b'{"type": "queued", "message": "2-1.1"}',
    b'{"type": "deliver", "message": "1-2.1"}',
    b'{"src": "n1", "dest": "n2", "body": {"message": "1-2.1"}}',
    b'{"src": "n1", "dest": "c1", "body": {"type": "deliver", "message": "2-1.1"}}',
    b'{"src": "n1", "dest": "c1", "body": {"type": "send_ok", "in_reply_to": 3}}',
    b'{"src": "n1", "dest": "c2", "body": {"type": "error", "code": [], "text": {}, "in_reply_to": 4}}',
    b'{"src": "n1", "dest": "c2", "body": {"type": ["echo_ok"], "in_reply_to": 4}}',
    b'{"src": "n1", "dest": "c2", "body": {"in_reply_to": [4]}}',
    b'{"src": "n1", "dest": "lin-kv", "body": {"type": "read"}}',
    b'{"src": "n1", "dest": "n' + b"9" * 5000 + b'", "body": {}}',
    b'{"src": "n1", "dest": "n2", "body": ' + b'{"a":' * 900 + b"1" + b"}" * 901,
    b"x" * 3000,
]


def answer_of_a_relay(form: str, line: str) -> list[bytes]:
    """The lines of an answer to one line of input."""
    if form == "maelstrom":
        said = json.loads(line)
        me, body = said["dest"], said["body"]
        reply = {"dest": said["src"], "body": {"type": f"{body.get('type')}_ok", "in_reply_to": body.get("msg_id")}}
        packet = {"dest": body.get("to"), "body": {"message": body.get("message")}}
        delivery = {"dest": "c1", "body": {"type": "deliver", "message": body.get("message")}}
        said_then = [delivery] if "type" not in body else [packet, reply] if body["type"] == "send" else [reply]
        return [json.dumps({"src": me, **one}).encode() for one in said_then]
    if form == "json":
        said = json.loads(line)
        one = {
            "send": {"type": "packet", "to": said.get("to"), "body": said.get("message")},
            "packet": {"type": "deliver", "message": said.get("body")},
        }.get(said["type"])
        lines = [json.dumps(one).encode()] if one else []
        if said["type"] == "init":
            return [b'{"type": "ok", "replies": true}']
        return [] if said["type"] == "reply" else [*lines, b'{"type": "ok"}']
    word, _, rest = line.partition(" ")
    lines = [f"packet {rest}".encode()] if word == "send" else []
    lines += [f"deliver {rest.partition(' ')[2]}".encode()] if word == "packet" else []
    return [] if word == "reply" else [*lines, b"ok replies" if word == "init" else b"ok"]


def mutated(lines: list[bytes], random: Random) -> bytes:
    """The lines with something dropped, doubled, swapped, put in, or changed."""
    lines = list(lines)
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        k = random.randrange(len(lines) + 1)
        match random.randrange(7):
            case 0:
                del lines[k : k + 1]
            case 1:
                lines[k:k] = lines[k - 1 : k]
            case 2:
                random.shuffle(lines)
            case 3:
                lines.insert(k, random.choice(STRANGE))
            case 4:
                lines.insert(k, random.randbytes(random.randrange(9)))
            case 5 if lines:
                line = bytearray(lines[k - 1])
                at = random.randrange(len(line) + 1)
                line[at : at + random.randrange(3)] = random.randbytes(random.randrange(3))
                lines[k - 1] = bytes(line)
            case _:
                lines[k:] = []
    said = b"".join(line + b"\n" for line in lines)
    return said[: random.randrange(len(said) + 1)] if random.randrange(9) == 0 else said


class Fuzzed(NodeProcess):
    """A relay without a process, of whose answers one in so many is mutated."""

    seed: str
    one_in: int
    always_the_same: bool
    mutations = started = 0

    def __init__(self, command: Sequence[str], form: Form, limits: NodeLimits, *others: Any) -> None:
        self.form, self._limits, self._prefix = form, limits, b""
        self.takes, self._answered = others[-1], None
        self._lines, self._unfinished, self._in_another, self._errors = deque(), b"", False, b""
        self._ended = False
        self._stdin, self._stdout, self._stderr = 0, 1, 2
        self._poll = self  # type: ignore[assignment]
        self._process = self  # type: ignore[assignment]
        self._said = b""
        self._had = ""
        type(self).started += 1
        self._random = Random(f"{self.seed} {self.started}")

    def poll(self, milliseconds: float | None = None) -> Any:
        """That of `select.poll`, and of a process that never ends."""
        return None if milliseconds is None else [(1, select.POLLIN)] if self._said else []

    def _write(self, unsent: bytes) -> bytes:
        for line in unsent.decode().splitlines():
            self._had = line if "init" in line else f"{self._had}\n{line}"
            random = Random(f"{self.seed} {self._had}") if self.always_the_same else self._random
            lines = answer_of_a_relay(self.form.name, line)
            if lines and random.randrange(self.one_in) == 0:
                type(self).mutations += 1
                self._said += mutated(lines, random)
            else:
                self._said += b"".join(one + b"\n" for one in lines)
        return b""

    def _read(self, ready: Sequence[tuple[int, int]]) -> None:
        if ready:
            block, self._said = self._said[:4096], self._said[4096:]
            self._take(block)

    def _close_input(self) -> None:
        self._ended = not self._said

    def end(self) -> None:
        self._said = b""


def answers(form: FormName, seeds: range, patch: pytest.MonkeyPatch) -> Iterator[Any]:
    patch.setattr(out_of_process, "NodeProcess", Fuzzed)
    for seed in seeds:
        patch.setattr(Fuzzed, "seed", str(seed), raising=False)
        patch.setattr(Fuzzed, "started", 0)
        patch.setattr(Fuzzed, "one_in", (3, 10, 40)[seed % 3], raising=False)
        patch.setattr(Fuzzed, "always_the_same", seed % 4 != 0, raising=False)
        with closing(OutOfProcess(["node"], 2, NodeLimits(seconds=0.0005, outputs=20, line=2000), form=form)) as nodes:
            yield conform(nodes, Request(2, 2 if seed % 5 else 1, replies=0 if form == "maelstrom" else 1))


def judge(form: FormName, seeds: range, patch: pytest.MonkeyPatch) -> set[str]:
    """The ways to fail that there were."""
    found = set()
    for answer in answers(form, seeds, patch):
        assert answer.verdict in ("holds", "violated", "unknown")
        for one in answer.failures:
            assert one.name in FAILURES
            assert one.run is not None
            assert one.note
            assert len(one.note) < 600
            found.add(one.name)
        json.dumps(answer.json())
        assert str(answer)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_mutated_answers_end_in_verdicts(form: FormName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fuzzed, "mutations", 0)
    assert {"hangs", "not-understood", "speaks-unasked", "not-deterministic"} <= judge(form, range(12), monkeypatch)
    assert Fuzzed.mutations > 40


@pytest.mark.thorough
@pytest.mark.parametrize("form", FORMS)
def test_thousands_of_mutated_answers_end_in_verdicts(form: FormName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fuzzed, "mutations", 0)
    found = judge(form, range(12, 300), monkeypatch)
    assert set(FAILURES) - found <= {"node-fails"}
    assert Fuzzed.mutations > 1000


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_ten_thousand_mutated_answers_end_in_verdicts(form: FormName, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fuzzed, "mutations", 0)
    seeds = count(300, 100)
    while Fuzzed.mutations < 10_000:
        first = next(seeds)
        judge(form, range(first, first + 100), monkeypatch)
