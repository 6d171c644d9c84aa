"""What a violation is explained by: the local state of an invariant, the receiver of a message, what a class lacks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.impl.variant import variant
from crownless.model_check.check.check_result import ELSEWHERE, NOT_DELIVERED, NOT_SENT
from crownless.spec.computation import Message


class Counts(cr.Protocol):
    """Delivers at once, and counts that."""

    promises = "asynchronous"
    invariants = {"at-most-one": lambda machine, i, state: state < 2}

    def initial(self, i: int) -> int:
        return 0

    def send(self, i: int, state: int, message: Message) -> Sequence[cr.Step]:
        return [cr.Step(state, [cr.Packet(i, q, "message", message) for q in self.to(message)], [cr.sent(message)])]

    def to(self, message: Message) -> Sequence[int]:
        return message.receivers

    def on_packet(self, i: int, state: int, packet: cr.Packet) -> Sequence[cr.Step]:
        return [cr.Step(state + 1, [], [cr.delivered(packet.message)])]


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_broken_invariant_is_shown_with_the_process_and_its_local_state(engine: str) -> None:
    line = cr.check(Counts, 3, 2, engine=engine)["at-most-one"]
    assert (line.verdict, line.note) == ("violated", "false at P2 in the local state 2")
    assert line.run is not None
    assert line.run.actions[-1].process == "P2"
    assert line.json()["note"] == line.note
    assert "false at P2 in the local state 2" in str(line)


DeafP3 = variant(
    Counts,
    sends="broadcast",
    invariants={},
    on_packet=lambda self, i, state, packet: Counts.on_packet(self, i, state, packet) if i < 2 else [cr.Step(state)],
)
DeafToP1 = variant(
    DeafP3,
    on_packet=lambda self, i, state, packet: (
        DeafP3.on_packet(self, i, state, packet) if packet.source else [cr.Step(state)]
    ),
)


@pytest.mark.parametrize(
    ("kind", "sends", "said"), [(DeafP3, 1, "m1 at P3"), (DeafToP1, 1, "m1 at P2, m1 at P3"), (DeafP3, 2, "m1 at P3")]
)
def test_what_is_never_delivered_is_named_with_its_receiver(kind: type[cr.Protocol], sends: int, said: str) -> None:
    note = cr.check(kind, 3, sends)["delivers-all"].note
    assert note in (f"never delivered: {said}", "never delivered: m1 at P3")


def with_events(method: Any, change: Any) -> Any:
    """A method of `Counts`, whose step has the events `change(events, message)`."""

    def changed(self: Any, i: int, state: int, given: Any) -> Any:
        message = getattr(given, "message", given)
        return [step._replace(events=change(step.events, message)) for step in method(self, i, state, given)]

    return changed


SaysNotSent = variant(Counts, send=with_events(Counts.send, lambda events, message: ()))
SaysNotDelivered = variant(Counts, on_packet=lambda self, i, state, packet: [cr.Step(state)])
ToAll = variant(Counts, "ToAll", to=lambda self, message: [q for q in range(self.n) if q != message.sender])
#: Blocks, though not for lack of an event.
SendsOnce = variant(
    Counts, send=lambda self, i, state, message: Counts.send(self, i, 10, message) if state < 10 else []
)
HasSeveralReceivers = variant(
    Counts, "HasSeveralReceivers", sends="broadcast", to=lambda self, message: [message.receiver]
)
#: Refuses all packets, for another reason than a forgotten event.
IsNeverReady = variant(Counts, deliverable=lambda self, i, state, packet: False)
#: Says that it broadcasts; a sender is not among the receivers of its message.
DeliversToItselfToo = variant(
    Counts, sends="broadcast", send=with_events(Counts.send, lambda events, message: [*events, cr.delivered(message)])
)
DeliversTwice = variant(Counts, on_packet=with_events(Counts.on_packet, lambda events, message: [*events, *events]))
#: Delivers a message also where it is not addressed to, and says that messages may have several receivers.
DeliversEverywhere = variant(ToAll, sends="multicast")


class SendsLate(Counts):
    """Its send event comes with the answer to a question; it forgets the second question that is answered."""

    invariants = {}

    def send(self, i: int, state: int, message: Message) -> Sequence[cr.Step]:
        return [cr.Step(state, [cr.Packet(i, message.receiver, "ask", message)])]

    def on_packet(self, i: int, state: int, packet: cr.Packet) -> Sequence[cr.Step]:
        message = packet.message
        assert message is not None
        if packet.kind == "ask":
            return [cr.Step(state, [cr.Packet(i, message.sender, "answer", message)])]
        if packet.kind == "answer":
            sends = [cr.Packet(i, message.receiver, "message", message)]
            return [cr.Step(1, sends, [cr.sent(message)])] if not state else [cr.Step(state)]
        return [cr.Step(state, [], [cr.delivered(message)])]


ON_RECEIVERS = f": {ELSEWHERE}"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (SaysNotSent, [NOT_SENT]),
        (SaysNotDelivered, [NOT_DELIVERED]),
        (ToAll, [f"P3 delivers m1, which is for P2{ON_RECEIVERS}"]),
        (SendsOnce, []),
        (IsNeverReady, []),
        (DeliversToItselfToo, [f"P1 delivers m1, which is for P2, P3{ON_RECEIVERS}"]),
        (DeliversEverywhere, [f"P3 delivers m1, which is for P2{ON_RECEIVERS}"]),
        (SendsLate, []),
        (Counts, []),
        (DeafP3, []),
        ("murty-garg", []),
    ],
)
def test_what_a_class_seems_to_lack_is_hinted_at(kind: Any, expected: list[str]) -> None:
    result = cr.check(kind, 3, 2)
    assert list(result.hints) == result.json()["hints"] == expected


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ToAll, "P3 delivers m1, which is for P2"),
        (DeliversToItselfToo, "P1 delivers m1, which is for P2, P3"),
        (DeliversTwice, "P2 delivers m1 a second time"),
    ],
)
def test_a_wrong_delivery_is_named(kind: type[cr.Protocol], said: str) -> None:
    line = cr.check(kind, 3, 1)["delivers-once"]
    assert (line.verdict, line.note) == ("violated", said)


def test_a_class_that_follows_the_hint_about_its_own_messages_holds() -> None:
    admits_them = variant(Counts, sends="broadcast", admits_self_sends=True, invariants={})
    assert cr.check(admits_them, 2, 1, self_sends=True).verdict == "holds"


#: P3 takes a message only if it comes with a packet of another kind, which nobody sends.
RelaysToP3 = variant(
    Counts,
    sends="broadcast",
    invariants={},
    deliverable=lambda self, i, state, packet: i < 2 or packet.kind != "message",
)


def test_a_message_to_several_is_lost_where_its_packet_is() -> None:
    line = cr.check(RelaysToP3, 3, 1, channel="lossy")["delivers-all"]
    assert line.run is not None
    lost = {action.packet.destination for action in line.run.actions if action.action == "lose" and action.packet}
    for part in line.note.removeprefix("never delivered: ").split(", "):
        assert part.endswith(" (lost)") == (part.split()[2] in lost), line.note


def test_the_receiver_of_a_message_to_several_is_refused_with_the_name_of_the_right_attribute() -> None:
    with pytest.raises(cr.BadInput, match=r"HasSeveralReceivers.send fails at P1: ValueError: .* message\.receivers"):
        cr.check(HasSeveralReceivers, 3, 1)


def test_the_command_line_prints_hints_and_explanations(crownless: Crownless, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    for name, line in {
        "ToAll": f"hint: P3 delivers m1, which is for P2{ON_RECEIVERS}\n",
        "Counts": "at-most-one: false at P2 in the local state 2\n",
    }.items():
        answer = crownless("check", f"test_explanations:{name}", "-n", "3", "-m", "2", "--quiet")
        assert answer.code == 1
        assert line in answer.out
    (found,) = crownless("check", "test_explanations:ToAll", "-n", "3", "-m", "2", "--json").json["checks"]
    assert found["hints"] == [f"P3 delivers m1, which is for P2{ON_RECEIVERS}"]
