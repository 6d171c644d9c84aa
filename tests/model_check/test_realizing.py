"""What a protocol can generate, and which order that is: `crownless realize`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from overrides import changed, twice
from replay import endings, numbered

import crownless as cr
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.variant import variant
from crownless.impl.workloads import Free
from crownless.model_check.search.realizing import Realization, lines_in_notation, realize
from crownless.model_check.system.request import Check
from crownless.runtime.ending import Stopped
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import decide, telling

EXAMPLES = Path(__file__).parents[2] / "examples"


def realized(kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered", **more: Any) -> Realization:
    """The answer for a machine."""
    return realize(Check(kind, n, m, channel=channel, **more))


def missing(answer: Realization, order: str) -> list[str]:
    c = answer.orders[order].missing
    assert c is not None
    return lines_in_notation(c)


def extra(answer: Realization, order: str) -> list[str]:
    c = answer.orders[order].extra
    assert c is not None
    return lines_in_notation(c)


# -- the protocols -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "channel", "order", "count"),
    [
        ("unordered", "unordered", "asynchronous", 416),
        ("unordered", "fifo", "fifo", 284),
        ("rst", "unordered", "causal", 278),
        ("buffer", "unordered", "mailbox", 278),
        ("murty-garg", "unordered", "synchronous", 216),
    ],
)
def test_what_is_generated_is_exactly_one_order(protocol: str, channel: str, order: str, count: int) -> None:
    answer = realize(Check(protocol, 3, 3, channel=channel))
    assert order in answer.equal_orders
    assert answer.computations == count
    assert answer.orders[order].computations == answer.orders[order].generated == count
    assert answer.violated_by is None
    for name, one in answer.orders.items():
        assert (one.extra is None) == (name in answer.contained_in)
        assert (one.missing is None) == (name in answer.contains)


def test_of_orders_that_are_the_same_within_the_bound_the_promised_one_gives_the_name() -> None:
    answer = realize(Check("rst", 3, 3))
    assert answer.equals == "causal"
    assert answer.equal_orders == ["causal", "mailbox", "one-n", "n-n"]


@pytest.mark.parametrize("kind", [Unordered, Rst, Buffer, MurtyGarg])
@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 2)])
def test_following_each_run_by_itself_leads_to_the_same_computations(
    kind: type[ProtocolMachine], n: int, m: int
) -> None:
    generated = {numbered(ending.computation) for ending in endings(kind, Free(n, m)) if ending.finished}
    answer = realized(kind, n, m)
    assert answer.computations == len(generated)
    drawn = set()
    for form in answer.found.forms:
        receivers = {(s, k): q for q, line in enumerate(form) for kind_, s, k in line if kind_ == "receive"}
        lines = [[(kind_, f"{s + 1}→{receivers[s, k] + 1}#{k}") for kind_, s, k in line] for line in form]
        if len(receivers) == m:
            drawn.add(numbered(tuple(map(tuple, lines))))
    assert drawn == generated


def _some(c: Computation | None) -> Computation:
    assert c is not None
    return c


# -- planted faults ----------------------------------------------------------------------------------------------------


#: P1 sends nothing before it has delivered something. The local state: may it send?
SpeaksWhenSpokenTo = variant(
    Unordered,
    "SpeaksWhenSpokenTo",
    symmetric=False,
    initial=lambda self, i: i != 0,
    send=lambda self, i, state, message: Unordered.send(self, i, state, message) if state else [],
    on_packet=lambda self, i, state, packet: changed(Unordered.on_packet(self, i, (), packet), lambda _: True),
)


def test_a_restriction_shows_as_the_smallest_computation_that_is_missing() -> None:
    answer = realized(SpeaksWhenSpokenTo, 2, 2)
    assert answer.equals is None
    assert answer.contained_in == ["asynchronous"]
    assert answer.contains == []
    assert missing(answer, "asynchronous") == ["P1: send m1 to P2", "P2: receive m1"]
    assert answer.shown_missing == "asynchronous"
    assert extra(answer, "fifo") == ["P1: receive m2; receive m1", "P2: send m1 to P1; send m2 to P1"]


Boasts = variant(Unordered, "Boasts", promises="causal")


def test_what_breaks_the_promise_is_the_smallest_extra_computation() -> None:
    answer = realized(Boasts, 3, 3, "fifo")
    assert answer.equals == "fifo"
    c = _some(answer.violated_by)
    assert c == answer.orders["causal"].extra
    assert len(c.messages) == 3
    assert not decide(c, "causal").kept
    assert decide(c, "fifo").kept


@pytest.mark.parametrize(("name", "extra"), [("Sequencer", False), ("DeliversAtOnce", True)])
def test_a_promise_of_total_order_is_compared_too(crownless: Crownless, name: str, extra: bool) -> None:
    answer = crownless("realize", f"{EXAMPLES}/total_order/sequencer.py:{name}", "-n", "2", "-m", "2")
    assert answer.code == int(extra)
    assert ("is generated and is not total: no common order of the messages exists" in answer.out) == extra
    assert answer.out.endswith("exactly total\n") != extra


def test_broadcasts_are_compared_with_total_order_whatever_is_promised() -> None:
    """Of two broadcasts to two processes; of unicasts it says nothing."""
    found = cr.realize("unordered", 2, 2, sends="broadcast-to-all")
    one = found.orders["total"]
    assert (found.equals, one.extra is None, one.generated) == ("asynchronous", False, one.computations)
    assert "total" not in cr.realize("unordered", 2, 2).orders


@pytest.mark.parametrize(("places", "broken_at"), [(frozenset({1}), 1), (frozenset({2}), 2), (frozenset(), None)])
def test_a_promise_about_some_processes_is_broken_only_there(places: frozenset[int], broken_at: int | None) -> None:
    answer = realized(variant(Boasts, ordered_at=places), 3, 2)
    assert answer.orders["causal"].extra is not None
    if broken_at is None:
        assert answer.violated_by is None
    else:
        assert {message.receivers for message in _some(answer.violated_by).messages} == {(broken_at,)}


class SendsAfterwards(ProtocolMachine):
    """The receiver delivers, and only then, once that is acknowledged, has the sender sent: two of these can cross."""

    promises = "asynchronous"
    sends_before_delivery = False

    def initial(self, i: int) -> None:
        return None

    def send(self, i: int, state: None, message: Message) -> Sequence[Step]:
        return [Step(state, [Packet(i, message.receiver, "message", message)])]

    def on_packet(self, i: int, state: None, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        if packet.kind == "ack":
            return [Step(state, (), [AppEvent("send", packet.message)])]
        return [Step(state, [Packet(i, packet.source, "ack", packet.message)], [AppEvent("deliver", packet.message)])]


def test_messages_in_a_circle_are_no_computation_and_keep_no_order() -> None:
    answer = realized(SendsAfterwards, 2, 2)
    assert answer.impossible == 1
    assert answer.contained_in == []
    assert extra(answer, "asynchronous") == ["P1: receive m2; send m1 to P2", "P2: receive m1; send m2 to P1"]
    assert answer.violated_by == answer.orders["asynchronous"].extra
    assert answer.json()["extra"]["asynchronous"]["because"].startswith("a cycle of messages")
    assert answer.computations == answer.orders["asynchronous"].generated, "the circle is not counted"


OnceMore = variant(
    Unordered, "OnceMore", on_packet=lambda self, i, state, packet: twice(Unordered.on_packet(self, i, state, packet))
)


def test_a_message_delivered_twice_makes_no_computation() -> None:
    answer = realized(OnceMore, 2, 1)
    assert answer.found.misdelivers
    assert answer.computations == 0
    over_duplicates = realized(Unordered, 2, 2, "duplicating")
    assert over_duplicates.found.misdelivers
    assert over_duplicates.equals == "asynchronous"


#: Takes no message.
NeverSends = variant(Unordered, "NeverSends", promises="causal", send=lambda self, i, state, message: [])
#: Receives every packet, and delivers nothing.
NeverDelivers = variant(Unordered, "NeverDelivers", on_packet=lambda self, i, state, packet: [Step(state)])


@pytest.mark.parametrize("name", ["NeverSends", "NeverDelivers", "OnceMore"])
def test_what_generates_no_computation_is_compared_with_no_order(crownless: Crownless, name: str) -> None:
    printed = crownless("realize", f"{__name__}:{name}", "-n", "2", "-m", "2")
    assert printed.code == 1
    assert printed.out.splitlines()[-1] == (
        "within 2 processes and 2 messages: generates no complete computation, so nothing is compared with any order"
    )
    assert "contained" not in printed.out
    assert "missing" not in printed.out
    in_json = crownless("realize", f"{__name__}:{name}", "-n", "2", "-m", "2", "--json")
    facts = in_json.json
    assert (in_json.code, facts["computations"], facts["equals"], facts["contained_in"]) == (1, 0, None, [])


#: The number of messages sent; those delivered, each with its number.
State = tuple[int, tuple[tuple[int, Message], ...]]


class Reorders(ProtocolMachine):
    """Delivers at once, and takes back, some time later, what it should have delivered later. For one sender."""

    promises = "fifo"

    def initial(self, i: int) -> State:
        return (0, ())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        number, delivered = state
        packet = Packet(i, message.receiver, "message", message, number)
        return [Step((number + 1, delivered), [packet], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        number, delivered = state
        state = (number, (*delivered, (packet.stamp, packet.message)))
        return [Step(state, (), [AppEvent("deliver", packet.message)])]

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:
        number, delivered = state
        in_order = tuple(sorted(delivered, key=lambda pair: pair[0]))
        if delivered == in_order:
            return []
        undone = [AppEvent("undeliver", message) for _, message in reversed(delivered)]
        done = [AppEvent("deliver", message) for _, message in in_order]
        return [("reorder", Step((number, in_order), (), [*undone, *done]))]


def test_what_is_taken_back_later_was_never_generated() -> None:
    answer = realized(Reorders, 2, 2)
    assert answer.violated_by is None
    assert "fifo" in answer.contained_in
    assert answer.orders["fifo"].generated > 0
    forgets = variant(Reorders, internal=lambda self, i, state: [])
    assert extra(realized(forgets, 2, 2), "fifo") == ["P1: send m1 to P2; send m2 to P2", "P2: receive m2; receive m1"]


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_verb_prints_every_stable_key(crownless: Crownless) -> None:
    answer = crownless("realize", "murty-garg", "-n", "3", "-m", "2", "--json")
    assert answer.code == 0
    facts = answer.json
    stable = {"protocol", "processes", "messages", "computations", "equals", "contained_in", "missing", "extra"}
    assert stable <= facts.keys()
    assert (facts["protocol"], facts["processes"], facts["messages"]) == ("murty-garg", 3, 2)
    assert facts["equals"] == "synchronous"
    assert facts["contained_in"] == list(telling(unicasts=True))
    assert facts["missing"]["synchronous"] is None
    assert facts["missing"]["n-n"] == {
        "messages": 2,
        "computation": ["P1: send m1 to P2; receive m2", "P2: send m2 to P1; receive m1", "P3:"],
    }
    assert facts["extra"] == dict.fromkeys(telling(unicasts=True))
    assert facts["computations"] == facts["orders"]["synchronous"]["generated"]


def test_the_verb_draws_the_computations_that_distinguish_the_order_promised_from_what_is_generated(
    crownless: Crownless,
) -> None:
    boasts = crownless("realize", f"{__name__}:Boasts", "-n", "2", "-m", "2")
    shy = crownless("realize", f"{__name__}:SpeaksWhenSpokenTo", "-n", "2", "-m", "2")
    quiet = crownless("realize", f"{__name__}:SpeaksWhenSpokenTo", "-n", "2", "-m", "2", "--quiet")
    assert boasts.code == 1
    assert "not causal: P2 receives m2 before m1, which was sent earlier:" in boasts.out
    assert "●─m1──╮" in boasts.out
    assert boasts.out.splitlines()[-1] == "within 2 processes and 2 messages: exactly asynchronous"
    assert shy.code == 0
    assert (
        "missing: a smallest asynchronous computation that test_realizing:SpeaksWhenSpokenTo never generates" in shy.out
    )
    shy_of = "within 2 processes and 2 messages: no order exactly; strictly inside asynchronous"
    assert shy.out.splitlines()[-1] == shy_of
    assert "●" not in quiet.out


def test_a_circle_is_printed_in_the_notation_since_it_cannot_be_drawn(crownless: Crownless) -> None:
    answer = crownless("realize", f"{__name__}:SendsAfterwards", "-n", "2", "-m", "2")
    assert answer.code == 1
    assert "P1: receive m2; send m1 to P2\n" in answer.out
    bound = "within 2 processes and 2 messages"
    assert answer.out.splitlines()[-1] == f"{bound}: no order exactly; inside none; all of synchronous"


def test_a_limit_gives_exit_3_and_claims_nothing(crownless: Crownless) -> None:
    answer = crownless("realize", "rst", "-n", "3", "-m", "3", "--max-seconds", "0", "--json")
    assert answer.code == 3
    facts = answer.json
    assert (facts["equals"], facts["contained_in"], facts["decided"]) == (None, [], False)
    assert "search ended early: time limit of 0 s reached" in facts["scope"]
    text = crownless("realize", "rst", "-n", "3", "-m", "3", "--max-seconds", "0")
    assert text.out.splitlines()[-1] == "unknown: time limit of 0 s reached"


def test_a_limit_does_not_hide_a_broken_promise_found_before() -> None:
    def ends_the_search(said: str) -> None:
        if "states" in said and int(said.split()[0]) > 60:
            raise Stopped("interrupted")

    answer = realize(Check(Boasts, 2, 6), progress=ends_the_search)
    assert answer.stopped == "interrupted"
    assert answer.violated_by is not None
    assert not decide(answer.violated_by, "causal").kept
    assert (answer.equals, answer.contained_in, answer.contains) == (None, [], [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("rst -n 1", "1 process has no other process to send to"),
        ("rst --sends al", "unknown kind of sends 'al'"),
        ("rst --sends multicast", "rst has no messages to several processes"),
        ("murty-garg --self-sends", "murty-garg excludes messages to oneself"),
    ],
)
def test_bad_input_is_one_line(crownless: Crownless, arguments: str, said: str) -> None:
    answer = crownless("realize", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert said in answer.err
