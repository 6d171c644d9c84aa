"""Names of messages carry no order: a machine that reads one is refused, and one that does not is left alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.model_check.check.check import run_check
from crownless.model_check.system.message_names import EVERY, Sample, renamed, renamings
from crownless.model_check.system.request import Check
from crownless.model_check.system.values import NotRebuilt, Refused
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Message
from crownless.spec.notation import parse

READS = r"depends on the names of messages: with .* it gives (.*), not (?!\1;).*; a machine may read a message's sender"


class State(NamedTuple):
    sent: int = 0
    waiting: frozenset[Any] = frozenset()
    extra: Any = ()


class Right(ProtocolMachine):
    """It keeps what comes, and delivers any of it later; nothing is read of a message but its receiver."""

    promises = "asynchronous"

    def initial(self, i: int) -> Any:
        return State()

    def send(self, i: int, state: Any, message: Message) -> Any:
        packet = Packet(i, message.receiver, "data", message, state.sent)
        return [Step(state._replace(sent=state.sent + 1), [packet], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        return [Step(state._replace(waiting=state.waiting | {packet.message}))]

    def internal(self, i: int, state: Any) -> Any:
        return [("hand over", self.step(state, message)) for message in sorted(state.waiting)]

    def step(self, state: Any, *messages: Message) -> Step:
        rest = state._replace(waiting=state.waiting.difference(messages))
        return Step(rest, [], [AppEvent("deliver", message) for message in messages])


def machine(base: type[ProtocolMachine] = Right, **attributes: Any) -> type[ProtocolMachine]:
    return type("Mine", (base,), attributes)


def number(message: Message) -> int:
    return int(message.name.rpartition("#")[2])


def kept(keep: Callable[[Message], Any]) -> Callable[..., Any]:
    """An `on_packet` that also keeps something of the message."""
    return lambda self, i, state, packet: [
        step._replace(state=step.state._replace(extra=(*state.extra, keep(packet.message))))
        for step in Right.on_packet(self, i, state, packet)
    ]


def only(choose: Callable[..., Any]) -> Callable[..., Any]:
    """An `internal` that hands over the one message of those that wait which this chooses."""
    return lambda self, i, state: [("hand over", self.step(state, choose(state.waiting)))] if state.waiting else []


READING: Mapping[str, Any] = {
    "the least is handed over": {"internal": only(min)},
    "the first by hash is handed over": {"internal": only(lambda waiting: next(iter(waiting)))},
    "the middle one is handed over": {"internal": only(lambda waiting: sorted(waiting)[len(waiting) // 2])},
    "all are handed over, the least first": {
        "internal": lambda self, i, state: [("all", self.step(state, *sorted(state.waiting)))] if state.waiting else []
    },
    "the step is called by the least": {
        "internal": lambda self, i, state: [
            (f"hand over {min(state.waiting).name}", self.step(state, m)) for m in state.waiting
        ]
    },
    "the guard counts by numbers": {
        "deliverable": lambda self, i, state, packet: number(packet.message) == len(state.waiting) + 1
    },
    "the guard compares with what waits": {
        "deliverable": lambda self, i, state, packet: all(m < packet.message for m in state.waiting)
    },
    "the first message is refused": {
        "send": lambda self, i, state, message: [] if number(message) == 1 else Right.send(self, i, state, message)
    },
    "the number is the stamp": {
        "send": lambda self, i, state, message: [
            step._replace(packets=[packet._replace(stamp=number(message)) for packet in step.packets])
            for step in Right.send(self, i, state, message)
        ]
    },
    "the number is kept": {"on_packet": kept(number)},
    "the name is kept backwards": {"on_packet": kept(lambda message: message.name[::-1])},
    "the name is the stamp, and its number is read": {
        "send": lambda self, i, state, message: [
            step._replace(packets=[packet._replace(stamp=message.name) for packet in step.packets])
            for step in Right.send(self, i, state, message)
        ],
        "deliverable": lambda self, i, state, packet: int(packet.stamp.rpartition("#")[2]) == len(state.waiting) + 1,
    },
    "pairs of a name and a message are sorted": {
        "on_packet": lambda self, i, state, packet: [
            Step(state._replace(waiting=state.waiting | {(packet.message.name, packet.message)}))
        ],
        "internal": lambda self, i, state: [
            ("all", Step(State(), [], [AppEvent("deliver", m) for _, m in sorted(state.waiting)]))
        ] if state.waiting else [],
    },
    "names alone are kept, and the least is handed over": {
        "on_packet": lambda self, i, state, packet: [
            Step(state._replace(waiting=state.waiting | {packet.message.name}))
        ],
        "internal": lambda self, i, state: [
            ("least", Step(state._replace(waiting=state.waiting - {min(state.waiting)}), [],
                           [AppEvent("deliver", FreeMessage(1 - i, (i,), int(min(state.waiting).rpartition("#")[2])))]))
        ] if state.waiting else [],
    },
    "the hash is kept": {"on_packet": kept(hash)},
    "waiting messages are kept sorted": {
        "on_packet": lambda self, i, state, packet: [
            Step(state._replace(extra=tuple(sorted((*state.extra, packet.message)))))
        ]
    },
    "the application gets the least": {
        "internal": lambda self, i, state: [],
        "receive": lambda self, i, state, sender: [self.step(state, min(state.waiting))] if state.waiting else [],
    },
    "a message is made up": {
        "on_packet": lambda self, i, state, packet: [
            Step(state._replace(extra=(*state.extra, type(packet.message)(0, (1,), 1))))
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("engine", ["plain", "native"])
@pytest.mark.parametrize("name", READING)
def test_a_machine_that_reads_names_is_refused_in_a_line(name: str, engine: str) -> None:
    with pytest.raises(BadInput) as error:
        run_check(Check(machine(**READING[name]), 2, 3), engine=engine)
    assert re.search(READS, str(error.value)), str(error.value)
    assert "\n" not in str(error.value)


PROGRAM = "P1: send b to P2; send a to P2\nP2: receive; receive\n"


@pytest.mark.parametrize(
    "read",
    [
        READING["the least is handed over"],
        {"deliverable": lambda self, i, state, packet: packet.message.name == "b" or bool(state.waiting)},
        {"deliverable": lambda self, i, state, packet: packet.message.name < "c"},
    ],
)
def test_a_machine_that_reads_the_names_of_a_program_is_refused(read: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=READS):
        run_check(Check(machine(**read), program=parse(PROGRAM)))


ALLOWED: Mapping[str, Any] = {
    "alternatives are listed in the order of names": {},
    "pairs are sorted by their numbers first": {
        "on_packet": lambda self, i, state, packet: [
            Step(state._replace(waiting=state.waiting | {(packet.source, packet.stamp, packet.message)}))
        ],
        "internal": lambda self, i, state: [
            ("hand over", Step(state._replace(waiting=state.waiting - {min(state.waiting)}), [],
                               [AppEvent("deliver", min(state.waiting)[2])]))
        ] if state.waiting else [],
    },
    "a name is kept as the message could be": {"on_packet": kept(lambda message: message.name)},
    "a name is kept within a text": {"on_packet": kept(lambda message: f"got {message.name}!")},
    "a step and a packet are called by the message": {
        "internal": lambda self, i, state: [(f"hand over {m.name}", self.step(state, m)) for m in state.waiting],
        "send": lambda self, i, state, message: [
            step._replace(packets=[packet._replace(kind=f"data {message.name}") for packet in step.packets])
            for step in Right.send(self, i, state, message)
        ],
    },
    "a message is looked for": {"deliverable": lambda self, i, state, packet: packet.message not in state.waiting},
    "a guard gives anything with a truth value": {"deliverable": lambda self, i, state, packet: (packet.message, 1)},
    "an invariant reads names": {
        "invariants": {"in order": lambda self, i, state: not state.waiting or min(state.waiting).name >= ""}
    },
}  # fmt: skip


@pytest.mark.parametrize("channel", ["unordered", "fifo"])
@pytest.mark.parametrize("name", ALLOWED)
def test_a_machine_that_lists_alternatives_in_any_order_is_not_refused(name: str, channel: str) -> None:
    free = run_check(Check(machine(**ALLOWED[name]), 2, 3, channel=channel))
    assert free["delivers-all"].verdict == "holds"
    run_check(Check(machine(**ALLOWED[name]), program=parse(PROGRAM), channel=channel))


ALL_AT_ONCE: dict[str, Any] = {
    "send": lambda self, i, state, message: [
        Step(state._replace(waiting=state.waiting | {message}), [], [AppEvent("send", message)])
    ],
    "on_packet": lambda self, i, state, packet: [Step(state, [], [AppEvent("deliver", packet.message)])],
    "internal": lambda self, i, state: [
        ("flush", Step(State(), [Packet(i, m.receiver, "data", m) for m in sorted(state.waiting)]))
    ] if state.waiting else [],
}  # fmt: skip


def test_the_order_of_packets_counts_where_the_channel_keeps_it() -> None:
    assert run_check(Check(machine(**ALL_AT_ONCE), 2, 3, channel="unordered"))["delivers-all"].verdict == "holds"
    with pytest.raises(BadInput, match=READS):
        run_check(Check(machine(**ALL_AT_ONCE), 2, 3, channel="fifo"))


def test_what_is_seldom_called_is_compared_however_late() -> None:
    """Calls of other methods, and on fewer messages, do not use up the sample."""
    sample, many = Sample(in_order=True), [Message(f"m{k}", 0, (1,)) for k in range(3)]
    for _ in range(10_000):
        sample.compare("send", lambda state, message: [], [(), many[0]], [])
        sample.compare("deliverable", lambda state: True, [frozenset(many[:1])], True)

    def least_first() -> None:
        for _ in range(EVERY):
            sample.compare("deliverable", lambda state: min(state) == many[0], [frozenset(many)], True)

    with pytest.raises(Refused, match="depends on the names"):
        least_first()


def test_renamings_change_what_can_be_read_of_names() -> None:
    """The order of any two is reversed once; of three, the middle one is another once; and each has another number."""
    names = ["1→2#1", "1→2#2", "1→2#3", "2→1#1"]
    reversing, other = renamings(names)
    assert sorted(names, key=reversing.__getitem__) == names[::-1]
    assert {*other.values()}.isdisjoint(names)
    assert sorted(names[:3], key=other.__getitem__)[1] != names[1]
    assert list(renamings([])) == [{}]


class Frozen(Mapping[Any, Any]):
    """A mapping that is made of pairs, not of a dictionary."""

    def __init__(self, *pairs: tuple[Any, Any]) -> None:
        self._items = dict(pairs)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))


def test_values_are_renamed_in_all_their_parts() -> None:
    a, b = Message("a", 0, (1,)), Message("b", 0, (1,))
    names = {"a": "b", "b": "a"}
    packet = Packet(0, 1, "a", a, frozenset({(b, "a", 1)}))
    assert renamed(packet, names, in_texts=False) == Packet(0, 1, "a", b, frozenset({(a, "a", 1)}))
    assert renamed(packet, names, in_texts=True) == Packet(0, 1, "a", b, frozenset({(a, "b", 1)}))
    assert renamed([("a", Step(a))], names, in_texts=False) == [("a", Step(b))]
    with pytest.raises(NotRebuilt):
        renamed(Frozen(("x", a)), names, in_texts=False)
