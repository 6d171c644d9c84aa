"""The command line: exit codes, JSON keys, and bad input in one clear line."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from crownless.command_line import main
from crownless.command_line.check import how_far
from crownless.command_line.options import parse_size
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check import run_check
from crownless.model_check.engines import COMPILES, cpus
from crownless.model_check.exploration import Exploration
from crownless.model_check.request import Check, load_program, protocols_supporting
from crownless.spec.orders import ORDERS

Capture = pytest.CaptureFixture[str]
SELF_SENDS = f"leave out --self-sends, or name the protocols: {protocols_supporting('self_sends')}"
MULTICAST = f"leave out --sends, or name the protocols: {protocols_supporting('multicast')}"
COPIES = f"send copies, or name the protocols: {protocols_supporting('multicast')}"


class Answer:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Crownless:
    """Runs `crownless` in this process."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def __call__(self, *arguments: str) -> Answer:
        with pytest.raises(SystemExit) as exit_:
            main(arguments)
        printed = self.capture.readouterr()
        assert isinstance(exit_.value.code, int)
        return Answer(exit_.value.code, printed.out, printed.err.replace(f"crownless: {COMPILES}\n", ""))


@pytest.fixture
def crownless(capsys: Capture) -> Crownless:
    return Crownless(capsys)


# -- check ----------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("protocol", ["buffer", "murty-garg"])
def test_the_protocols_hold_at_three_by_three(crownless: Crownless, protocol: str) -> None:
    assert crownless("check", protocol, "-n", "3", "-m", "3").code == 0


def test_no_protocol_violates_fifo_in_three_actions_and_is_drawn(crownless: Crownless) -> None:
    answer = crownless("check", "unordered", "-n", "3", "-m", "3")
    assert answer.code == 1
    assert "unordered breaks fifo, causal:" in answer.out
    assert "●─m2" in answer.out
    (check,) = crownless("check", "unordered", "-n", "3", "-m", "3", "--json").json["checks"]
    runs = {known["name"]: known["run"] for known in check["properties"] if known["verdict"] == "violated"}
    assert runs.keys() == {"fifo", "causal"}
    assert [(action["process"], action["action"], action["message"]) for action in runs["fifo"]] == [
        ("P1", "send", "m1"),
        ("P1", "send", "m2"),
        ("P2", "deliver", "m2"),
    ]


def test_over_fifo_channels_no_protocol_keeps_fifo_and_breaks_causal_order(crownless: Crownless) -> None:
    answer = crownless("check", "unordered", "--channel", "fifo", "--json")
    verdicts = {known["name"]: known["verdict"] for known in answer.json["checks"][0]["properties"]}
    assert (verdicts["fifo"], verdicts["causal"]) == ("holds", "violated")
    assert answer.code == 1


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
    assert never["completes"] == "never"
    assert never["blocks"] == [["P1 at its statement 2, receive", "P2 at its statement 2, receive"]]
    table = crownless("check", "buffer", "rendezvous", "--program", "mf-fig1", "--quiet").out
    assert first_words_of_rows(table) == ["buffer", "rendezvous"]
    assert "breaks completes (never)" in table


def test_messages_late_by_a_clock_are_reported_and_who_cannot_wear_one_is_left_out(crownless: Crownless) -> None:
    answer = crownless("check", "unordered", "-n", "2", "-m", "2", "--clock", "vector-times")
    assert answer.code == 1
    assert "unordered breaks fifo and causal and vector-times\n" in answer.out
    answer = crownless("check", "-n", "2", "-m", "1", "--clock", "vector-times")
    assert answer.code == 0
    assert "they have no times: rendezvous, ses-rollback, murty-garg" in answer.err


def test_a_search_for_lassos_keeps_to_its_limit_too(crownless: Crownless) -> None:
    (check,) = crownless("check", "fifo-ack", "--channel", "duplicating", "--max-seconds", "1", "--json").json["checks"]
    assert check["verdict"] in ("unknown", "violated")


def test_a_program_whose_lassos_are_undecided_is_not_said_to_complete_or_not() -> None:
    check = Check("fifo-ack", program=load_program("mf-fig1"), channel="fifo")
    with patch("crownless.model_check.check.Search.lassos", return_value="interrupted"):
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
    assert "100 states are reached" in check["scope"]
    assert all(known["verdict"] != "holds" for known in check["properties"] if known["kind"] != "sometimes")
    assert crownless("check", "rst", "-m", "6", "--max-seconds", "0").code == 3


def test_a_limit_of_memory_is_a_size(crownless: Crownless) -> None:
    assert [parse_size(size) for size in ("1m", "1.5G", "2 GiB", "1TB")] == [1 << 20, 3 << 29, 2 << 30, 1 << 40]
    answer = crownless("check", "rst", "--max-memory", "1M")
    assert (answer.code, answer.out) == (2, "")
    assert re.fullmatch(
        r"crownless: --max-memory: \d+M are in use before the search begins; give \d+M or more\n", answer.err
    )
    assert crownless("check", "rst", "-m", "2", "--max-memory", "1T").code == 0


def test_a_violation_that_was_found_before_a_limit_is_reported(crownless: Crownless) -> None:
    assert crownless("check", "unordered", "--max-states", "400").code == 1


def test_reductions_give_the_same_verdicts_and_smaller_counts(crownless: Crownless) -> None:
    for reductions in (["symmetry"], ["order"], ["all"], ["symmetry", "order"]):
        flags = [argument for name in reductions for argument in ("--reduce", name)]
        (check,) = crownless("check", "rst", *flags, "--workers", "1", "--json").json["checks"]
        assert check["reductions"] == (["symmetry", "order"] if reductions == ["all"] else reductions)
        assert (check["verdict"], check["workers"]) == ("holds", 1)
        assert check["states"] < 7370
    answer = crownless("check", "rst", "--reduce", "all", "--workers", "1")
    assert answer.out.startswith("rst: 3 processes, up to 4 messages")
    assert "native engine, 1 worker; counts are of what is left after symmetry and order reduction\n" in answer.out


def test_of_several_protocols_those_that_do_not_admit_a_reduction_are_left_out_and_named(crownless: Crownless) -> None:
    answer = crownless("check", "rst", "kearns", "buffer", "--reduce", "symmetry", "-m", "2")
    assert answer.code == 3, "one that was requested is not answered"
    assert answer.err == (
        "crownless: not run, does not admit --reduce symmetry: it does not treat all processes alike: kearns\n"
    )
    assert first_words_of_rows(answer.out) == ["rst", "buffer"]
    answer = crownless("check", "-m", "1", "--engine", "native", "--crash", "P1")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith("\ncrownless: no protocol admits this; name one to see why\n")


def test_the_plain_explorer_says_the_same_and_its_name(crownless: Crownless) -> None:
    native, plain = (
        crownless("check", "unordered", "-m", "2", "--engine", name, "--json") for name in ("native", "plain")
    )
    assert native.code == plain.code == 1
    ours, theirs = native.json["checks"][0], plain.json["checks"][0]
    differs = {key for key in ours if ours[key] != theirs[key]}
    assert differs <= {"engine", "workers", "scope", "seconds", "symmetry"}
    both = crownless("check", "isis", "--crash", "P1", "-m", "2").out
    assert "; plain explorer (the native engine knows no crashes), no reductions\n" in both


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


def test_a_program_that_blocks_says_where(crownless: Crownless) -> None:
    answer = crownless("check", "buffer", "--program", "mf-program-3", "--json")
    assert answer.code == 1
    (check,) = answer.json["checks"]
    assert (check["program"], check["processes"], check["messages"]) == ("mf-program-3", 3, 2)
    (completes,) = (known for known in check["properties"] if known["name"] == "completes")
    assert completes["verdict"] == "violated"
    assert completes["note"] == "P2 at its statement 1, receive from P1"
    assert crownless("check", "rst", "--program", "mf-program-3").code == 0


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
    assert drawn.out.count("unordered breaks") == 2
    assert "deliver m2 from P1" in drawn.out
    assert "*-m2" in crownless("show", str(file), "--ascii").out
    file.write_text(crownless("check", "rst", "--json").out)
    assert crownless("show", str(file)).err == (
        f"crownless: {file}: no property is violated there, so there is no run to draw\n"
    )


def test_a_program_run_is_shown_with_the_programs_own_process_names(crownless: Crownless, tmp_path: Path) -> None:
    program = tmp_path / "meeting.txt"
    program.write_text("Alice: send hello to Bob\nBob: receive from Carol\nCarol: ...\n")
    file = tmp_path / "checks.json"
    file.write_text(crownless("check", "rst", "--program", str(program), "--json").out)
    assert "Alice" in crownless("show", str(file)).out


# -- classify, count, list --------------------------------------------------------------------------------


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


def _event(process: str, index: int, kind: str, message: str, peer: str, run: int = 0) -> str:
    event = {"run": run, "process": process, "index": index, "kind": kind, "message": message, "peer": peer}
    return json.dumps(event) + "\n"


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


def test_list_names_everything_that_can_be_named(crownless: Crownless) -> None:
    facts = crownless("list", "--json").json
    assert [row["name"] for row in facts["protocols"]] == list(PROTOCOLS)
    assert [row["name"] for row in facts["orders"]] == list(ORDERS)
    assert [row["name"] for row in facts["channels"]] == ["unordered", "fifo", "lossy", "duplicating"]
    assert "mf-fig8" in crownless("list").out


def test_crownless_alone_prints_its_help(crownless: Crownless) -> None:
    answer = crownless()
    assert answer.code == 0
    assert "Exit codes" in answer.out


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "chek",
            (
                "unknown verb 'chek'; did you mean 'check'? "
                "known: check, claims, classify, cost, count, list, new, prove, realize, show"
            ),
        ),
        ("prove rts", f"unknown protocol 'rts'; did you mean 'rst'? known: {', '.join(PROTOCOLS)}"),
        ("check rts", f"unknown protocol 'rts'; did you mean 'rst'? known: {', '.join(PROTOCOLS)}"),
        (
            "check rst --order casual",
            f"unknown order 'casual'; did you mean 'causal'? known: {', '.join(ORDERS)}",
        ),
        (
            "check rst --channel fif",
            "unknown channel 'fif'; did you mean 'fifo'? known: unordered, fifo, lossy, duplicating",
        ),
        ("check rst --engine tlc", "unknown engine 'tlc'; known: native, plain, spark"),
        ("check rst --reduce ordre", "unknown reduction 'ordre'; did you mean 'order'? known: symmetry, order, all"),
        (
            "check rst --engine plain --reduce all",
            "--engine plain: the plain explorer has no reductions; leave out --engine or --reduce",
        ),
        (
            "check ses --engine native --crash P1",
            "ses: --engine native: the native engine knows no crashes; leave that out",
        ),
        (
            "check rst --reduce order --channel lossy",
            "rst does not admit --reduce order: a lossy channel acts between deliveries; leave that out",
        ),
        ("check rst --max-memory 4", "--max-memory 4: not a size of 1M or more, in M, G or T; such as 4G, or 512M"),
        ("check rst --max-memory 0G", "--max-memory 0G: not a size of 1M or more, in M, G or T; such as 4G, or 512M"),
        ("check rst -n 0", "-n/--processes 0: nothing to explore; give 1 to 16 processes"),
        ("check rst -n -1", "-n/--processes -1: nothing to explore; give 1 to 16 processes"),
        (
            "check rst -n 1000000000",
            "-n/--processes 1000000000: more than this tool takes; give at most 16 processes; 3 or 4 is a good start",
        ),
        ("check rst -m 0", "-m/--messages 0: nothing to explore; give 1 to 64 messages"),
        (
            "check rst -m 1000000000",
            "-m/--messages 1000000000: more than this tool takes; give at most 64 messages; 3 or 4 is a good start",
        ),
        ("check rst -n 1", "1 process has nobody to send to; use two processes or more, or --self-sends"),
        ("check rst --set k=4", "rst has no parameter 'k'; its parameters: none"),
        (
            "check extra-messages --set k=0",
            "extra-messages: k=0: too small, an empty matrix has 0 non-zero entries; give 1 or more",
        ),
        (
            "check extra-messages --set k=4,0,4",
            "extra-messages: k=4,0,4: too small, an empty matrix has 0 non-zero entries; give 1 or more",
        ),
        (
            "check extra-messages --set k=4,5",
            "extra-messages: k=4,5: 2 values for 3 processes; give one for each, or one for all",
        ),
        (
            "check buffer-bounded --set input=0",
            "buffer-bounded: input=0: too small, a full buffer takes nothing in; give 1 or more",
        ),
        (
            "check buffer-bounded --set output=1,2,3",
            "buffer-bounded: output=1,2,3: it is one for all processes; give one number, such as output=1",
        ),
        ("check kearns --set server=4", "kearns: server=4: too great for 3 processes; give 1 to 3"),
        (
            "check kearns --order mailbox",
            "kearns orders the deliveries at one process only, of which mailbox says nothing; request fifo or causal",
        ),
        ("check ses --crash P9", "unknown process to crash 'P9'; did you mean 'P3'? known: P1, P2, P3"),
        ("check rst --sends multicast", f"rst has no messages to several processes; {MULTICAST}"),
        ("check rst --sends some", "unknown kind of sends 'some'; known: unicast, multicast, broadcast"),
        ("check rst --program ses-fig2", f"rst has no messages to several processes, and W1 is one; {COPIES}"),
        (
            "check rst --clock lamport",
            "unknown clock 'lamport'; did you mean 'lamport-times'? known: lamport-times, vector-times",
        ),
        (
            "check rst --set k",
            "--set k: not a KEY=VALUE with whole numbers; such as --set k=4, or k=4,4,5 for each process",
        ),
        ("check extra-messages --set k=3 --set k=4", "--set k=4: k is set twice; give it once"),
        ("check rst --crash P1 --crash P2", "--crash P1 --crash P2: one process at most may crash; name one"),
        (
            "check rst --order asynchronous",
            "--order asynchronous: what breaks it fails delivers-once, which is always checked; name another order",
        ),
        ("check murty-garg --self-sends", f"murty-garg excludes messages to oneself; {SELF_SENDS}"),
        (
            "check rst --program mf-program-1 -n 4",
            "a program brings its own processes and messages; leave out -n, -m, --sends and --self-sends",
        ),
        ("count -n 0 -m 3", "-n 0: cannot be enumerated; give 1 to 8"),
        ("count -n 3 -m 1000000000", "-m 1000000000: cannot be enumerated; give 1 to 8"),
        ("classify gone.txt", "gone.txt: cannot read it: No such file or directory; name a text file or a log"),
        (
            "classify gone.parquet",
            "gone.parquet: Parquet logs are read on Spark only; add --engine spark, or give JSON Lines",
        ),
    ],
)
def test_bad_usage_is_one_line_that_says_what_to_do(crownless: Crownless, arguments: str, line: str) -> None:
    answer = crownless(*arguments.split())
    assert (answer.code, answer.out, answer.err) == (2, "", f"crownless: {line}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        "check rst -n two",
        "check rst --bogus",
        "check rst --workers 0",
        "check rst --workers 65",
        "count -n 3",
        "classify",
    ],
)
def test_what_the_option_parser_refuses_is_one_line_too(crownless: Crownless, arguments: str) -> None:
    answer = crownless(*arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("crownless: ")
    assert answer.err.count("\n") == 1
    assert "--help" in answer.err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("P1: receive x; send y to P2\nP2: receive y; send x to P1\n", "the computation is cyclic"),
        ("P1: receive x\nP2:\n", "never sent"),
        ("P1: send x to P2\nP2: receive x; receive x\n", "receives x twice"),
        ("P1: send x to P4\nP2:\n", "unknown process 'P4'"),
        ("P1: send x to\nP2:\n", "x is sent to nobody"),
        ("P1: send x to P2\nP2: receive\n", "does not say which message"),
    ],
)
def test_a_text_that_is_no_computation_is_refused_with_file_and_line(
    crownless: Crownless, tmp_path: Path, text: str, line: str
) -> None:
    file = tmp_path / "bad.txt"
    file.write_text(text)
    answer = crownless("classify", str(file))
    assert answer.code == 2
    assert answer.err.startswith(f"crownless: {file}:")
    assert line in answer.err
    assert answer.err.count("\n") == 1


def test_a_malformed_line_in_the_middle_of_a_good_log_is_named_and_nothing_is_printed(
    crownless: Crownless, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    lines = [_event("P1", index, "send", f"x{index}", "P2") for index in range(5)]
    lines[2] = '{"process": "P1", "index": 2, "kind": "send", "message":\n'
    log.write_text("".join(lines))
    answer = crownless("classify", str(log))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"crownless: {log}:3")
    assert answer.err.count("\n") == 1


def test_show_prints_what_it_would_draw_as_json(crownless: Crownless, tmp_path: Path) -> None:
    (shown,) = crownless("show", "mg-fig4a", "--json").json["computations"]
    assert [event["event"] for event in shown["lines"][0]] == ["send", "receive"]
    file = tmp_path / "checks.json"
    file.write_text(crownless("check", "unordered", "--order", "fifo", "--json").out)
    (shown,) = crownless("show", str(file), "--json").json["runs"]
    assert shown["processes"] == ["P1", "P2", "P3"]
    assert shown["run"] == json.loads(file.read_text())["checks"][0]["properties"][0]["run"]


def test_show_refuses_what_is_no_run(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "no.json"
    file.write_text("[1, 2]")
    answer = crownless("show", str(file))
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    file.write_text("[1,")
    assert crownless("show", str(file)).err.startswith(f"crownless: {file}:1: not JSON")
