"""Rules of protocols: found in local transitions alike by all engines, and missed where nothing exercises them."""

from __future__ import annotations

from typing import Any

import pytest
from command_line_runner import Crownless
from native_engine_setup import Question, question
from overrides import changed
from replay import check
from tiers import slow

from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variant import variant
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.runtime.errors import BadInput
from crownless.spec.notation import parse

#: The rules that one message from one process to another, or back, exercises; every other needs more.
BY_ONE_MESSAGE = {
    "fifo-ack": {"an-acknowledgement-frees-the-sender", "a-sender-is-blocked"},
    "rendezvous": {"an-acknowledgement-ends-the-wait"},
    "isis-gc": {"a-message-is-deleted"},
    "isis-gc-waits": {"a-message-is-deleted", "a-request-names-a-message-deleted-here"},
    "cbcast": {"a-merge-raises-an-entry"},
    "kearns": {"a-client-counts-its-message-to-the-server", "a-merge-raises-an-entry"},
    **{key: {"an-entry-of-the-time-is-raised"} for key in ("ses", "ses-delete", "ses-multicast", "ses-rollback")},
    **{key: {"an-application-waits-for-a-message"} for key in ("buffer", "buffer-pipelined")},
    "buffer-bounded": {"an-application-waits-for-a-message", "an-input-buffer-is-full", "an-output-buffer-is-full"},
    "murty-garg": {
        "a-request-goes-to-a-bigger-process",
        "a-message-comes-back-to-its-sender",
        "a-message-is-acknowledged-at-once",
        "a-message-to-a-smaller-process-is-sent-at-once",
        "a-request-is-answered-at-once",
    },
}
#: Rules that are about what a process refuses, which one that takes no message exercises too.
BY_REFUSING = {"a-send-is-blocked", "a-full-output-buffer-blocks-a-send", "an-application-waits-for-a-message"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_rule_is_not_said_to_be_exercised_at_a_bound_too_small_for_it(protocol: str) -> None:
    kind = PROTOCOLS[protocol]
    result = check(kind, 2, 1, channel=kind.needs_channel)
    own = {*kind.rules, *kind.witnesses}
    assert own - set(result.never_exercised) == BY_ONE_MESSAGE.get(protocol, set())


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if PROTOCOLS[name].rules])
def test_a_machine_that_takes_no_message_exercises_nothing_but_refusals(protocol: str) -> None:
    kind = PROTOCOLS[protocol]
    mute: Any = type("Mute", (kind,), {"send": lambda self, i, state, message: []})
    result = check(mute, 2, 2, channel=kind.needs_channel)
    assert {*kind.rules, *kind.witnesses} - set(result.never_exercised) <= BY_REFUSING


@pytest.mark.parametrize("channel", ["fifo", slow("duplicating")])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_both_engines_find_the_same_rules_exercised(protocol: str, channel: str) -> None:
    same_rules_exercised(question(protocol, 2 if protocol.startswith("isis-gc") else 3, 2, channel))


def same_rules_exercised(both: Question) -> set[str]:
    """The rules that the plain engine finds exercised, once the native one was seen to find the same."""
    exercised = both.plain().reached
    assert both.native().reached == exercised
    assert both.native(workers=2, shared=False).reached == exercised
    if both.admits_symmetry():
        assert both.native(symmetry=True).reached == exercised
    return exercised


#: No process takes a message once it knows of three: then the bound of three leaves none to refuse.
SendsThree = variant(
    Rst,
    rules={"a-send-is-refused": lambda machine, t: t.action == "send" and t.refused},
    send=lambda self, i, state, message: [] if sum(map(sum, state.sent)) >= 3 else Rst.send(self, i, state, message),
)


@pytest.mark.parametrize(("messages", "exercised"), [(3, False), (4, True)])
def test_a_send_is_refused_only_where_the_bound_leaves_one(messages: int, exercised: bool) -> None:
    both = question(SendsThree, 3, messages)
    assert both.shares()
    assert ("a-send-is-refused" in same_rules_exercised(both)) == exercised


#: Its rules are about processes by their names; the processes themselves are all alike.
KnowsNames = variant(
    Rst,
    rules={
        "sends-to-a-smaller": lambda machine, t: t.sends and t.message.receiver < t.process,
        "receives-from-a-smaller": lambda machine, t: t.received and t.packet.source < t.process,
        "P2-holds-a-message-of-P3-back": lambda machine, t: t.held_back and (t.process, t.packet.source) == (1, 2),
        "P3-sends-after-P1-sent-to-P2": lambda machine, t: t.sends and t.process == 2 and t.before.sent[0][1] > 0,
        "transmits-to-P2": lambda machine, t: t.sends and t.step.packets[0].destination == 1,
        "P2-delivers-what-P3-sent": lambda machine, t: [(t.process, m.sender) for m in t.delivers()] == [(1, 2)],
        "P2-has-heard-of-two": lambda machine, t: t.process == 1 and sum(t.after.deliv) == 2,
        "a-fourth-process-sends": lambda machine, t: t.process > 2,
    },
)


KnowsNamesAndRefuses = variant(
    KnowsNames,
    rules={"P3-refuses-a-message-to-P1": lambda machine, t: (t.process, t.action, t.refused) == (2, "send", True)},
    send=lambda self, i, state, message: [] if sum(state.deliv) else Rst.send(self, i, state, message),
)


@pytest.mark.parametrize("kind", [KnowsNames, KnowsNamesAndRefuses])
@pytest.mark.parametrize("channel", ["unordered", "fifo"])
def test_rules_are_looked_for_at_every_process_where_all_share_tables(kind: type[Rst], channel: str) -> None:
    both = question(kind, 3, 3, channel)
    assert both.shares()
    searched = both.search()
    searched.explore()
    assert searched.asymmetry is None
    assert same_rules_exercised(both) >= kind.rules.keys() - {"a-fourth-process-sends"}
    assert "a-fourth-process-sends" not in both.native().reached


FailsAtP2 = variant(Rst, "FailsAtP2", rules={"fails-at-P2": lambda machine, t: bool(1 // (t.process - 1) > 5)})


def test_a_rule_that_fails_at_another_process_than_the_first_says_so() -> None:
    for engine in ("plain", "native"):
        said = r"rule 'fails-at-P2' of FailsAtP2 fails at P2: Zero.*, given the step 'send' from the local state "
        with pytest.raises(BadInput, match=said):
            run_check(Check(FailsAtP2, 3, 2), engine=engine)


#: What has come to the guard is refused for good: it is never let in later.
RefusesForGood = variant(Unordered, symmetric=False, deliverable=lambda self, i, state, packet: i == 0)
RefusesNothing = variant(Unordered, deliverable=lambda self, i, state, packet: True)


def test_a_guard_is_evaluated_without_being_requested() -> None:
    assert check(RefusesNothing, 2, 2).never_exercised == ("holds-back", "releases")
    assert check(RefusesForGood, 2, 2).never_exercised == ("releases",)
    assert check(Rst, 2, 2).exercised["releases"]
    assert "releases" not in check(Unordered, 2, 2).exercised


#: Over FIFO channels: delivers the second message only if the first has been in its way.
InTheOrderOfArrival = variant(
    Unordered,
    symmetric=False,
    needs_channel="fifo",
    rules={
        "the-second-goes-first": lambda machine, t: t.received and t.before == "closed" and t.message.name == "y",
        "the-second-waits": lambda machine, t: t.held_back and t.message.name == "y",
    },
    initial=lambda self, i: "closed",
    send=lambda self, i, state, message: changed(Unordered.send(self, i, (), message), lambda _: state),
    on_packet=lambda self, i, state, packet: changed(Unordered.on_packet(self, i, (), packet), lambda _: "open"),
)


PROGRAM = "P1: send x to P2; send y to P2\nP2: receive x; receive y\n"


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_step_that_the_application_does_not_take_exercises_nothing(engine: str) -> None:
    both = question(InTheOrderOfArrival, program=parse(PROGRAM), channel="unordered")
    assert "the-second-goes-first" not in getattr(both, engine)().reached
    other = question(
        InTheOrderOfArrival, program=parse(PROGRAM.replace("x; receive y", "y; receive x")), channel="unordered"
    )
    assert "the-second-goes-first" in getattr(other, engine)().reached


#: Nothing is let in before the process has itself sent; then everything, so that the first goes first.
OpensForBoth = variant(
    InTheOrderOfArrival,
    send=lambda self, i, state, message: changed(
        Unordered.send(self, i, (), message), lambda _: "ready" if state == "closed" else state
    ),
    deliverable=lambda self, i, state, packet: state != "closed",
    rules={
        "the-second-goes-first": lambda machine, t: t.received and t.before == "ready" and t.message.name[-1] == "2"
    },
)


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_packet_that_must_not_overtake_exercises_nothing(engine: str) -> None:
    both = question(OpensForBoth, 2, 3, "fifo")
    assert "the-second-goes-first" not in getattr(both, engine)().reached
    assert "the-second-goes-first" in getattr(question(OpensForBoth, 2, 3, "unordered"), engine)().reached


#: Merges nothing, so that nobody waits for a message of another.
Waits = variant(
    Rst,
    after_delivering=lambda self, i, state, j, stamp: Rst.after_delivering(
        self, i, state, j, self.ops.matrix(lambda k, l: 0)
    ),
)


def test_a_rule_that_a_fault_disables_is_missed() -> None:
    assert check(Rst, 3, 3).never_exercised == ()
    assert "waits-for-a-message-of-another" in check(Waits, 3, 3).never_exercised


def test_the_verdict_says_in_the_table_how_many_rules_were_never_exercised(crownless: Crownless) -> None:
    bound = ("-n", "2", "-m", "2", "--quiet")
    missed = list(check(Rst, 2, 2).never_exercised)
    assert "waits-for-a-message-of-another" in missed
    code, text, _ = crownless("check", "rst", *bound)
    assert code == 0
    assert text.endswith(f"rst holds within the bound, but 2 rules never exercised: {', '.join(missed)}\n")
    assert "never exercised (no run" in text
    code, text, _ = crownless("check", "rst", "ses", *bound)
    assert code == 0
    assert text.endswith("2 checks: 2 hold (2 with rules never exercised)\n")
    assert f"rst, 2×2, unordered: never exercised: {', '.join(missed)}" in text
    answer = crownless("check", "rst", *bound, "--json")
    (found,) = answer.json["checks"]
    assert (answer.code, found["verdict"], found["never_exercised"]) == (0, "holds", missed)
