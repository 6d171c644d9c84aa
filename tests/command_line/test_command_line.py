"""The commands `check`, `classify` and `count`: exit codes, JSON keys, tables and runs."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

from command_line_runner import Crownless
from log_files import event, written

from crownless.command_line.commands.check import how_far
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.search.engines import cpus
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check, load_program
from crownless.runtime.memory import bytes_of
from crownless.spec.orders import ORDERS


def test_check_of_a_protocol_that_holds_exits_0_and_prints_every_stable_key(crownless: Crownless) -> None:
    answer = crownless("check", "rst", "-n", "3", "-m", "4", "--json")
    assert answer.code == 0
    (check,) = answer.json["checks"]
    assert check["protocol"] == "rst"
    assert (check["processes"], check["messages"]) == (3, 4)
    assert (check["states"], check["transitions"], check["depth"]) == (7370, 16722, 8)
    assert (check["program"], check["channel"], check["parameters"]) == (None, "unordered", {})
    assert (check["engine"], check["reductions"], check["verdict"]) == ("plain", [], "holds")
    assert (check["actions"], check["never"], check["nodes"]) == ({"send": 5898, "deliver": 10824}, [], 7370)
    assert check["workers"] == 1
    (native,) = crownless("check", "rst", "-n", "3", "-m", "4", "--engine", "native", "--json").json["checks"]
    differs = {key for key, value in check.items() if value != native[key]}
    assert differs <= {"engine", "workers", "scope", "seconds", "symmetry"}
    assert (native["engine"], native["workers"]) == ("native", cpus())
    assert {"terminal_states", "seconds"} <= check.keys()
    for known in check["properties"]:
        assert {"name", "kind", "verdict", "run"} <= known.keys()
        assert known["verdict"] == "holds"
        assert known["run"] is None
    assert {known["kind"] for known in check["properties"]} == {"always", "live", "sometimes"}


def test_no_protocol_violates_fifo_in_three_actions_and_is_drawn(crownless: Crownless) -> None:
    answer = crownless("check", "unordered", "-n", "3", "-m", "3")
    assert answer.code == 1
    assert "unordered violates fifo, causal:" in answer.out
    assert "●─m2" in answer.out
    (check,) = crownless("check", "unordered", "-n", "3", "-m", "3", "--json").json["checks"]
    runs = {known["name"]: known["run"] for known in check["properties"] if known["verdict"] == "violated"}
    assert runs.keys() == {"fifo", "causal"}
    assert [(action["process"], action["action"], action["message"]) for action in runs["fifo"]] == [
        ("P1", "send", "m1"),
        ("P1", "send", "m2"),
        ("P2", "deliver", "m2"),
    ]


def test_check_without_a_protocol_covers_all_in_one_table(crownless: Crownless) -> None:
    answer = crownless("check", "-n", "2", "-m", "1")
    names = [line.split()[0] for line in answer.out.splitlines() if line and not line.startswith(" ")]
    assert {"protocol", *PROTOCOLS} <= set(names)
    assert answer.code == 0


def test_protocols_that_do_not_support_the_check_are_left_out_and_named(crownless: Crownless) -> None:
    answer = crownless("check", "--program", "ses-fig6", "--channel", "lossy", "--max-states", "50", "--set", "k=4")
    assert answer.err.startswith("crownless: not run, has no parameter 'k': unordered, fifo-sequence, ")
    assert answer.err.count("\n") == 1
    assert "extra-messages" in answer.out
    assert crownless("check", "--set", "bogus=4").code == 2


def first_words_of_rows(out: str) -> list[str]:
    """The protocols of a table of several checks, in their order."""
    return [line.split()[0] for line in out.splitlines() if re.match(r"[a-z-]+  .* \d+\.\d$", line)]


def test_a_program_is_said_to_complete_always_sometimes_or_never_and_where_it_blocks(crownless: Crownless) -> None:
    assert "completes: always\n" in crownless("check", "rst", "--program", "mf-program-3").out
    sometimes = crownless("check", "buffer", "--program", "mf-program-3")
    assert "completes: sometimes\n  blocks with P2 at its statement 1, receive from P1\n" in sometimes.out
    (never,) = crownless("check", "rendezvous", "--program", "mf-fig1", "--json").json["checks"]
    assert (never["program"], never["processes"], never["messages"], never["completes"]) == ("mf-fig1", 2, 2, "never")
    (completes,) = (known for known in never["properties"] if known["name"] == "completes")
    assert completes["verdict"] == "violated"
    assert completes["note"].endswith("P1 at its statement 2, receive; P2 at its statement 2, receive")
    assert never["blocks"] == [["P1 at its statement 2, receive", "P2 at its statement 2, receive"]]
    table = crownless("check", "buffer", "rendezvous", "--program", "mf-fig1", "--quiet").out
    assert first_words_of_rows(table) == ["buffer", "rendezvous"]
    assert "violates completes (never)" in table


def test_messages_late_by_a_clock_are_reported_and_who_cannot_wear_one_is_left_out(crownless: Crownless) -> None:
    answer = crownless("check", "unordered", "-n", "2", "-m", "2", "--clock", "vector-times")
    assert answer.code == 1
    assert "unordered violates fifo, causal and vector-times\n" in answer.out
    answer = crownless("check", "-n", "2", "-m", "1", "--clock", "vector-times")
    assert answer.code == 0
    assert "they have no times: rendezvous, ses-rollback, murty-garg" in answer.err


def test_a_search_for_lassos_keeps_to_its_limit_too(crownless: Crownless) -> None:
    (check,) = crownless("check", "fifo-ack", "--channel", "duplicating", "--max-seconds", "1", "--json").json["checks"]
    assert check["verdict"] in ("unknown", "violated")


def test_a_program_whose_lassos_are_undecided_is_not_said_to_complete_or_not() -> None:
    check = Check("fifo-ack", program=load_program("mf-fig1"), channel="fifo")
    with patch("crownless.model_check.check.check.Search.lassos", return_value="interrupted"):
        result = run_check(check)
    assert (result.completes, result.verdict, result.interrupted) == ("unknown", "unknown", True)
    assert run_check(check).completes == "always"


def test_the_table_lists_every_parameter(crownless: Crownless) -> None:
    answer = crownless("check", "isis-gc", "isis", "--program", "ses-program-1")
    assert re.search(r"^isis-gc +ses-program-1, .*\n +fifo, rounds=0,1,0", answer.out, re.MULTILINE)


def test_a_process_may_crash(crownless: Crownless) -> None:
    answer = crownless("check", "ses", "--program", "ses-fig6", "--crash", "S1")
    assert answer.code == 1
    assert "S1: crash" in answer.out
    assert "S1 may crash and lose its packets in flight; messages from and to it are not owed" in answer.out
    assert crownless("check", "isis", "-n", "3", "-m", "2", "--crash", "P1").code == 0
    (json,) = crownless("check", "ses-rollback", "-n", "3", "-m", "2", "--crash", "P1", "--json").json["checks"]
    assert (json["crash"], json["verdict"]) == ("P1", "holds")


def test_parameters_have_a_value_for_all_or_one_for_each(crownless: Crownless) -> None:
    def parameters(*arguments: str) -> Any:
        return crownless("check", "extra-messages", "-m", "1", "--json", *arguments).json["checks"][0]["parameters"]

    assert parameters() == {"k": 4}
    assert parameters("--set", "k=3") == {"k": 3}
    assert parameters("--set", "k=3,4,5") == {"k": [3, 4, 5]}


def test_the_workload_is_the_protocols_own_unless_given(crownless: Crownless) -> None:
    def facts(*arguments: str) -> Any:
        return crownless("check", *arguments, "-m", "2", "--json").json["checks"][0]

    assert (facts("cbcast")["sends"], facts("cbcast")["verdict"]) == ("broadcast", "holds")
    assert facts("cbcast", "--sends", "unicast")["verdict"] == "violated"
    assert (facts("kearns")["channel"], facts("kearns")["verdict"]) == ("fifo", "holds")
    assert facts("kearns", "--channel", "unordered")["verdict"] == "violated"


def test_a_limit_gives_unknown_and_exit_3(crownless: Crownless) -> None:
    answer = crownless("check", "rst", "--max-states", "100", "--json")
    assert answer.code == 3
    (check,) = answer.json["checks"]
    assert check["verdict"] == "unknown"
    assert "state limit of 100 reached" in check["scope"]
    assert all(known["verdict"] != "holds" for known in check["properties"] if known["kind"] != "sometimes")
    early = crownless("check", "rst", "-m", "6", "--max-seconds", "0")
    assert (early.code, "never exercised" in early.out) == (3, False)


def test_a_limit_of_memory_is_a_size(crownless: Crownless) -> None:
    assert [bytes_of(size) for size in ("1m", "1.5G", "2 GiB", "1TB")] == [1 << 20, 3 << 29, 2 << 30, 1 << 40]
    answer = crownless("check", "rst", "--max-memory", "1M")
    assert (answer.code, answer.out) == (2, "")
    assert re.fullmatch(
        r"crownless: --max-memory: \d+M are already in use before the search starts; give \d+M or more\n", answer.err
    )
    assert crownless("check", "rst", "-m", "2", "--max-memory", "1T").code == 0


def test_a_violation_that_was_found_before_a_limit_is_reported(crownless: Crownless) -> None:
    assert crownless("check", "unordered", "--max-states", "400").code == 1


def test_symmetry_reduction_gives_the_same_verdicts_and_smaller_counts(crownless: Crownless) -> None:
    (check,) = crownless("check", "rst", "--reduce", "symmetry", "--workers", "1", "--json").json["checks"]
    assert check["reductions"] == ["symmetry"]
    assert (check["verdict"], check["workers"]) == ("holds", 1)
    assert check["states"] < 7370
    answer = crownless("check", "rst", "--reduce", "symmetry", "--workers", "1")
    assert answer.out.startswith("rst: 3 processes, up to 4 messages")
    assert "native engine, 1 worker; counts are after symmetry reduction\n" in answer.out


def test_of_several_protocols_those_that_do_not_admit_a_reduction_are_left_out_and_named(crownless: Crownless) -> None:
    answer = crownless("check", "rst", "kearns", "buffer", "--reduce", "symmetry", "-m", "2")
    assert answer.code == 3, "one that was requested is not answered"
    assert answer.err == (
        "crownless: not run, does not admit --reduce symmetry: it does not treat all processes alike: kearns\n"
    )
    assert first_words_of_rows(answer.out) == ["rst", "buffer"]
    answer = crownless("check", "-m", "1", "--engine", "native", "--channel", "lossy-fifo")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith("\ncrownless: no bundled protocol supports these options; name one to see why\n")


def test_why_the_plain_explorer_searches_is_said(crownless: Crownless) -> None:
    both = crownless("check", "ses-rollback", "--crash", "P1", "-m", "2").out
    assert "; plain explorer (the native engine does not support agreement of survivors), no reductions\n" in both


def test_how_often_each_action_was_possible_is_reported(crownless: Crownless) -> None:
    assert "\nactions: send 5,898 · deliver 10,824\n" in crownless("check", "rst").out
    waiting = crownless("check", "buffer", "-n", "2", "-m", "2", "--max-states", "1").out
    assert "; never so far: " in waiting


def test_progress_shows_level_states_rate_and_memory() -> None:
    found = Exploration(states=5000, seconds=2.0)
    assert re.fullmatch(r"level 3, 5,000 states, 2,500 states/s, [\d,]+ MiB in use", how_far(found, 3))
    report = how_far(found, -4096)
    assert report.startswith("5,000 states; looking for runs that never end, 4,096 states, ")


def test_a_search_that_delivers_nothing_does_not_pass(crownless: Crownless, tmp_path: Path) -> None:
    program = tmp_path / "silent.txt"
    program.write_text("P1: ...\nP2:\n")
    answer = crownless("check", "rst", "--program", str(program), "--json")
    assert answer.code == 3
    assert answer.json["checks"][0]["verdict"] == "unknown"


def test_orders_and_self_sends_can_be_chosen(crownless: Crownless) -> None:
    answer = crownless("check", "buffer", "-m", "2", "--order", "mailbox", "--order", "synchronous", "--json")
    verdicts = {known["name"]: known["verdict"] for known in answer.json["checks"][0]["properties"]}
    assert (verdicts["mailbox"], verdicts["synchronous"]) == ("holds", "violated")
    assert "fifo" not in verdicts
    broken = crownless("check", "rst", "-n", "2", "-m", "2", "--self-sends", "--json").json["checks"][0]
    assert broken["verdict"] == "violated"


def test_a_run_from_check_can_be_shown(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "checks.json"
    file.write_text(crownless("check", "unordered", "rst", "--json").out)
    drawn = crownless("show", str(file))
    assert drawn.code == 0
    assert drawn.out.count("unordered violates fifo, causal:") == drawn.out.count("unordered violates") == 1
    assert [one["violates"] for one in crownless("show", str(file), "--json").json["runs"]] == [["fifo", "causal"]]
    svg, html = tmp_path / "run.svg", tmp_path / "run.html"
    answer = crownless("show", str(file), "--svg", str(svg), "--html", str(html))
    assert (answer.code, answer.err) == (0, "")
    assert html.read_text("utf-8").count("<svg") == svg.read_text("utf-8").count("<svg") == 1
    assert "unordered violates fifo, causal" in svg.read_text("utf-8")
    assert "deliver m2 from P1" in drawn.out
    assert "*-m2" in crownless("show", str(file), "--ascii").out
    file.write_text(crownless("check", "rst", "--json").out)
    assert crownless("show", str(file)).err == (
        f"crownless: {file}: no property is violated in it, so there is no run to draw\n"
    )


def test_a_program_run_is_shown_with_the_programs_own_process_names(crownless: Crownless, tmp_path: Path) -> None:
    program = tmp_path / "meeting.txt"
    program.write_text("Alice: send hello to Bob\nBob: receive from Carol\nCarol: ...\n")
    file = tmp_path / "checks.json"
    file.write_text(crownless("check", "rst", "--program", str(program), "--json").out)
    assert "Alice" in crownless("show", str(file)).out


# -- classify, count ---------------------------------------------------------------------------------------------------


def test_classify_reports_of_fig_8_what_the_text_says(crownless: Crownless) -> None:
    answer = crownless("classify", "mf-fig8", "--json")
    assert answer.code == 1
    facts = answer.json
    assert {"file", "processes", "messages", "orders", "strongest", "crowns"} <= facts.keys()
    assert (facts["processes"], facts["messages"]) == (3, 6)
    verdicts = {name: order["verdict"] for name, order in facts["orders"].items()}
    assert list(verdicts) == list(ORDERS)
    kept = [name for name, verdict in verdicts.items() if verdict == "kept"]
    assert kept == ["asynchronous", "fifo", "causal"]
    cycle = facts["orders"]["mailbox"]["witness"]["cycle"]
    assert {link["before"] for link in cycle} == {f"P{p} sends {m}" for p, m in zip("332211", "afcbed", strict=True)}
    assert facts["orders"]["synchronous"]["witness"]["kind"] == "crown"
    assert facts["strongest"] == ["causal"]


def test_classify_names_the_pair_and_chain_of_the_alice_bob_carol_log(crownless: Crownless) -> None:
    answer = crownless("classify", "kuper-alice-bob-carol.jsonl", "--json")
    assert answer.code == 1
    causal = answer.json["orders"]["causal"]
    assert causal["verdict"] == "violated"
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
    events = [("P1", 0, "send", "x", "P2"), ("P2", 0, "deliver", "x", "P1"), ("P2", 2, "send", "y", "P1")]
    log = written(tmp_path, [event(*fields) for fields in events])
    answer = crownless("classify", log, "--order", "causal")
    assert answer.code == 3
    assert "unknown" in answer.out
    assert "hole: " in answer.out
    facts = crownless("classify", log, "--json").json
    assert facts["orders"]["causal"]["verdict"] == "unknown"
    assert facts["holes"]


def test_a_send_into_a_hole_is_named(crownless: Crownless, tmp_path: Path) -> None:
    sends = [("a", 0, "send", "x1", "b"), ("a", 1, "send", "x2", "c"), ("a", 2, "send", "x3", "c")]
    at_c = [("c", 0, "deliver", "x3", "a"), ("c", 2, "send", "y", "b")]
    log = written(tmp_path, [event(*fields) for fields in [*sends, *at_c]])
    printed = crownless("classify", log).out.splitlines()
    assert "hole: c: event 1 is missing" in printed
    assert "x2: not received, or in a hole of c" in printed
    assert "4 messages" in printed[0]
    assert any(line.startswith("not received: x1 by b, y by b; read as lost for good") for line in printed)
    facts = crownless("classify", log, "--json").json
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


def test_count_prints_all_orders(crownless: Crownless) -> None:
    answer = crownless("count", "-n", "4", "-m", "3", "--json")
    assert answer.code == 0
    expected = dict(zip(ORDERS, [2120, 1688, 1664, 1664, 1664, 1664, 1440, 2120], strict=True))
    known = {"processes": 4, "messages": 3, "counts": expected}
    assert answer.json == {"crownless": version("crownless"), **known, "complete": True, "stopped": None}


def test_crownless_alone_prints_its_help(crownless: Crownless) -> None:
    answer = crownless()
    assert answer.code == 0
    assert "Exit codes" in answer.out
