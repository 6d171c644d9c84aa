"""The commands `classify`, `count` and `list`: exit codes and JSON keys."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from command_line_runner import Crownless, _event

from crownless.spec.orders import ORDERS


def test_classify_reports_of_fig_8_what_the_text_says(crownless: Crownless) -> None:
    answer = crownless("classify", "mf-fig8", "--json")
    assert answer.code == 1
    facts = answer.json
    assert {"file", "processes", "messages", "orders", "strongest", "crowns"} <= facts.keys()
    assert (facts["processes"], facts["messages"]) == (3, 6)
    verdicts = {name: order["verdict"] for name, order in facts["orders"].items()}
    assert list(verdicts) == list(ORDERS)
    assert [name for name, verdict in verdicts.items() if verdict == "kept"] == ["asynchronous", "fifo", "causal"]
    cycle = facts["orders"]["mailbox"]["witness"]["cycle"]
    assert {link["before"] for link in cycle} == {f"P{p} sends {m}" for p, m in zip("332211", "afcbed", strict=True)}
    assert facts["orders"]["synchronous"]["witness"]["kind"] == "crown"
    assert facts["strongest"] == ["causal"]


def test_classify_names_the_pair_and_chain_of_the_alice_bob_carol_log(crownless: Crownless) -> None:
    answer = crownless("classify", "kuper-alice-bob-carol.jsonl", "--json")
    assert answer.code == 1
    causal = answer.json["orders"]["causal"]
    assert causal["verdict"] == "broken"
    witness = causal["witness"]
    assert (witness["first"], witness["second"], witness["receiver"]) == ("m1", "m3", "Carol")
    assert [(step["process"], step["event"], step["message"]) for step in witness["chain"]] == [
        ("Alice", "send", "m1"),
        ("Alice", "send", "m2"),
        ("Bob", "receive", "m2"),
        ("Bob", "send", "m3"),
    ]


def test_classify_exits_0_if_every_requested_order_is_kept(crownless: Crownless) -> None:
    assert crownless("classify", "mf-fig8", "--order", "causal", "--order", "fifo").code == 0
    assert crownless("classify", "mf-fig8", "--order", "mailbox").code == 1
    assert crownless("classify", "mf-fig5", "mf-fig8", "--order", "causal").code == 0


def test_a_log_with_a_hole_is_unknown_and_exits_3(crownless: Crownless, tmp_path: Path) -> None:
    log = tmp_path / "holes.jsonl"
    events = [("P1", 0, "send", "x", "P2"), ("P2", 0, "deliver", "x", "P1"), ("P2", 2, "send", "y", "P1")]
    log.write_text("".join(_event(*event) for event in events))
    answer = crownless("classify", str(log), "--order", "causal")
    assert answer.code == 3
    assert "unknown" in answer.out
    assert "hole: " in answer.out
    facts = crownless("classify", str(log), "--json").json
    assert facts["orders"]["causal"]["verdict"] == "unknown"
    assert facts["holes"]


def test_a_send_into_a_hole_is_named(crownless: Crownless, tmp_path: Path) -> None:
    log = tmp_path / "holes.jsonl"
    sends = [("a", 0, "send", "x1", "b"), ("a", 1, "send", "x2", "c"), ("a", 2, "send", "x3", "c")]
    at_c = [("c", 0, "deliver", "x3", "a"), ("c", 2, "send", "y", "b")]
    log.write_text("".join(_event(*event) for event in [*sends, *at_c]))
    printed = crownless("classify", str(log)).out.splitlines()
    assert "hole: c: event 1 is missing" in printed
    assert "x2: not received, or in a hole of c" in printed
    assert "4 messages" in printed[0]
    assert any(line.startswith("not received: x1, y; read as lost for good") for line in printed)
    facts = crownless("classify", str(log), "--json").json
    assert facts["perhaps_received"] == [{"message": "x2", "receiver": "c"}]
    assert facts["unreceived"] == [{"message": "x1", "receiver": "b"}, {"message": "y", "receiver": "b"}]


def test_unreceived_messages_can_be_read_as_lost_or_pending(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "one.txt"
    file.write_text("P1: send x to P2; send y to P3\nP2:\nP3: receive y\n")
    lost = crownless("classify", str(file), "--json").json
    pending = crownless("classify", str(file), "--unreceived", "pending", "--json").json
    assert lost["strongest"] == ["mailbox"]
    assert pending["strongest"] == ["synchronous"]
    assert "x" in crownless("classify", str(file)).out


def test_many_runs_are_summed_up(crownless: Crownless, tmp_path: Path) -> None:
    log = tmp_path / "many.jsonl"
    lines = []
    for run in range(20):
        events = [("P1", 0, "send", "x", "P2"), ("P1", 1, "send", "y", "P2")]
        first, second = ("y", "x") if run == 7 else ("x", "y")
        events += [("P2", 0, "deliver", first, "P1"), ("P2", 1, "deliver", second, "P1")]
        lines += [_event(*event, run=run) for event in events]
    log.write_text("".join(lines))
    answer = crownless("classify", str(log), "--order", "fifo")
    assert answer.code == 1
    assert "20 computations" in answer.out
    assert f"{log}, run 7" in answer.out
    assert len(crownless("classify", str(log), "--json").json["classifications"]) == 20


@pytest.mark.parametrize(
    ("n", "m", "counts"),
    [("3", "4", [4581, 2280, 2136, 2136, 2136, 2130, 1296]), ("4", "3", [2120, 1688, 1664, 1664, 1664, 1664, 1440])],
)
def test_count_prints_all_seven_orders(crownless: Crownless, n: str, m: str, counts: list[int]) -> None:
    answer = crownless("count", "-n", n, "-m", m, "--json")
    assert answer.code == 0
    expected = dict(zip(ORDERS, counts, strict=True))
    known = {"processes": int(n), "messages": int(m), "counts": expected}
    assert answer.json == {"crownless": version("crownless"), **known, "complete": True, "stopped": None}


def test_crownless_alone_prints_its_help(crownless: Crownless) -> None:
    answer = crownless()
    assert answer.code == 0
    assert "Exit codes" in answer.out
