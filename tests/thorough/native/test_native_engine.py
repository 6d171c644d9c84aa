"""The native engine finds what the plain explorer finds: every count, every verdict, every length; with symmetry
reduction, where that is admitted, what it may leave of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import factorial
from typing import Any
from unittest.mock import patch

import pytest
from broken_protocols import BROKEN_PROGRAMS, FAULTS, VARIATIONS
from in_order import bound
from native_engine_setup import Question, question, reported
from planted import ProgramCatch, Setup
from tiers import slow, slow_where

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.variant import variant
from crownless.model_check.native import search
from crownless.model_check.search.engines import NATIVE_CHANNELS
from crownless.model_check.system.request import load_program
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput
from crownless.spec import library, notation
from crownless.spec.computation import Message

#: For each channel a small bound and a larger one.
BOUNDS = {
    "unordered": ((3, 2), (3, 4)),
    "fifo": ((3, 2), (3, 3)),
    "lossy": ((2, 3), (3, 3)),
    "duplicating": ((2, 2), (2, 3)),
}

#: (workers, may processes share their tables?); True is taken for False where they may not.
ENGINES = ((1, False), (2, True))

#: Some faults let buffers grow for ever.
ENOUGH = Limits(states=20_000)
FEW = Limits(states=500)

#: What has more states than a test should search that is run always.
HEAVY = {"mf-footnote-2", "mf-fig7", "mf-fig8", "mf-program-2", "mf-program-2-fig7", "mf-program-2-fig8"}


def agree(both: Question, engines: Iterable[tuple[int, bool]] = ENGINES, limits: Limits | None = None) -> bool:
    """Asserts that the engines find the same; false if there is no end to it."""
    plain = both.plain(limits)
    if plain.stopped:
        return False
    expected, shares = reported(plain), both.shares()
    with patch.object(search, "MIN_ROWS_FOR_THREADS", 0):  # the workers are threads, however few rows there are
        for workers, shared in dict.fromkeys((workers, shared and shares) for workers, shared in engines):
            assert reported(both.native(workers, shared=shared)) == expected, (workers, shared)
        if both.admits_symmetry():
            reduced, renamings = both.native(2, symmetry=True), factorial(both.check.machine.n)
            assert reduced.stopped is None
            assert all(getattr(reduced, name) == expected[name] for name in ("violated", "reached", "depth", "graded"))
            assert reduced.states <= plain.states <= reduced.states * renamings
            assert reduced.nodes <= plain.nodes <= reduced.nodes * renamings
            assert reduced.transitions <= plain.transitions
    return True


# -- every protocol over every channel ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, slow(1)], ids=["small", "large"])
@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_over_every_channel(protocol: str, channel: str, size: int) -> None:
    both = question(protocol, *bound(protocol, *BOUNDS[channel][size], channel), channel)
    assert both.admits_symmetry() == PROTOCOLS[protocol].symmetric
    assert agree(both)


# -- crashes -----------------------------------------------------------------------------------------------------------

#: Those whose survivors do not agree on anything.
WITHOUT_AGREEMENT = [name for name, kind in PROTOCOLS.items() if kind.agree is ProtocolMachine.agree]


@pytest.mark.parametrize("size", [0, slow(1)], ids=["small", "large"])
@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize("protocol", WITHOUT_AGREEMENT)
def test_every_protocol_of_which_a_process_may_crash(protocol: str, channel: str, size: int) -> None:
    n, m = bound(protocol, *((2, 2), (3, 2))[size], channel)
    assert agree(question(protocol, n, m, channel, crash=f"P{n}"), ENGINES[:1] if size else ENGINES)


@pytest.mark.parametrize("orders", [("asynchronous",), ("mailbox",), ("n-n",)])
def test_a_crash_whatever_the_monitors(orders: tuple[str, ...]) -> None:
    for protocol in ("buffer-bounded", "unordered"):
        assert agree(question(protocol, 2, 3, orders=orders, crash="P1"))


class PostsLater(ProtocolMachine):
    """Keeps each message, and sends it in a step of its own."""

    promises = "asynchronous"

    def initial(self, i: int) -> tuple[Message, ...]:
        return ()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [Step((*state, message))]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        message, *rest = state or (None,)
        if message is None:
            return []
        return [("post", Step(tuple(rest), [Packet(i, message.receiver, "m", message)], [AppEvent("send", message)]))]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step(state, (), [AppEvent("deliver", packet.message)])]


def test_a_crashed_process_owes_no_sends() -> None:
    both = question(PostsLater, 2, 2, orders=("asynchronous",), crash="P2")
    assert agree(both)
    assert both.plain().violated == {}


@pytest.mark.parametrize("process", ["P1", "P2", "P3"])
@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
def test_a_program_of_which_a_process_may_crash(channel: str, process: str) -> None:
    script = load_program("mf-program-1-selective")
    questions = [question(protocol, program=script, channel=channel, crash=process) for protocol in ("rst", "buffer")]
    assert all(agree(both) for both in questions)
    assert any(both.native().blocked for both in questions)


# -- other checks ------------------------------------------------------------------------------------------------------

ORDERS = ("mailbox", "one-n", "n-n", "synchronous")

#: Checks beside the usual: the arguments of `question`.
OTHERS: tuple[tuple[str, int, int, Mapping[str, Any]], ...] = (
    *(
        (protocol, *nm, {"orders": orders, "channel": channel})
        for protocol in ("unordered", "buffer-bounded", "murty-garg")
        for orders in (*((order,) for order in ORDERS), ("fifo", "n-n", "causal"), ("asynchronous",))
        for nm, channel in (((2, 3), "fifo"), ((3, 2), "unordered"))
    ),
    ("unordered", 3, 3, {"orders": ORDERS}),
    ("ses-rollback", 3, 2, {"orders": ("asynchronous",)}),
    ("ses-multicast", 3, 2, {"orders": ORDERS}),
    *(
        (protocol, 3, 2, {"clocks": clocks, "channel": channel})
        for protocol in ("unordered", "isis")
        for clocks in (("lamport-times",), ("lamport-times", "vector-times"))
        for channel in ("unordered", "fifo")
    ),
    ("unordered", 2, 2, {"clocks": ("lamport-times", "vector-times"), "channel": "duplicating"}),
    *(
        (protocol, n, m, {"sends": sends})
        for protocol in ("unordered", "isis", "ses-multicast", "optimal", "cbcast")
        for sends in ("multicast", "broadcast")
        for n, m in ((3, 2), (4, 1))
    ),
    *(
        (protocol, n, m, {"self_sends": True, "channel": channel})
        for protocol, kind in PROTOCOLS.items()
        if kind.admits_self_sends
        for n, m, channel in ((1, 3, "unordered"), (2, 2, "fifo"))
    ),
    ("unordered", 2, 2, {"self_sends": True, "sends": "multicast"}),
    ("unordered", 16, 1, {}),
    ("unordered", 5, 2, {"sends": "broadcast"}),
    ("unordered", 3, 2, {"sends": "broadcast-to-all"}),
    ("unordered", 2, 2, {"sends": "broadcast-to-all", "orders": ("total",)}),
    ("cbcast", 3, 3, {"orders": ("causal", "total")}),
    *(("extra-messages", 3, 3, {"parameters": {"k": k}}) for k in (2, (2, 3, 9))),
    *(("buffer-bounded", 2, 4, {"parameters": {"output": output, "input": room}}) for output, room in ((1, 2), (2, 1))),
    ("kearns", 3, 2, {"parameters": {"server": 2}}),
    *(("isis-gc", 2, 2, {"parameters": {"rounds": rounds}}) for rounds in (0, 1, (1, 0))),
)


@pytest.mark.parametrize(
    ("protocol", "n", "m", "facts"),
    [*OTHERS, *(slow(("unordered", 4, 4, {"orders": (o,)})) for o in ORDERS)],
    ids=lambda value: str(value),
)
def test_other_orders_clocks_sends_and_parameters(protocol: str, n: int, m: int, facts: Mapping[str, Any]) -> None:
    assert agree(question(protocol, n, m, **facts), [(2, True)])


# -- programs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", slow_where(lambda name: name in HEAVY, library.names()))
def test_every_bundled_program_under_every_protocol_that_admits_it(program: str) -> None:
    script = load_program(program)
    for protocol in PROTOCOLS:
        if not protocol.startswith("isis-gc"):
            try:
                both = question(protocol, program=script)
            except BadInput:
                continue
            assert agree(both, [(1, False)]), protocol


@pytest.mark.parametrize(
    ("protocol", "program"),
    [
        ("rst", "mf-program-1-selective"),
        ("buffer", "mf-program-1-selective"),
        ("buffer", "mf-program-3"),
        ("rendezvous", "mf-fig1"),
        ("buffer-bounded", "mf-footnote-2"),
        ("isis-gc", "mf-fig1"),
    ],
)
@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
def test_a_program_over_every_channel_and_where_it_blocks(protocol: str, program: str, channel: str) -> None:
    if channel == "duplicating" and protocol in ("buffer-bounded", "isis-gc"):
        pytest.skip("it has more states than a test should search")
    script = load_program(program)
    both = question(protocol, program=script, channel=channel)
    assert agree(both, [(2, False)])
    assert both.native().blocked or protocol == "isis-gc"


# -- broken protocols --------------------------------------------------------------------------------------------------


#: Whose buffers grow for ever.
NEVER_END = {"PostsTheSameAgain", "AcknowledgesToEverybody"}


def rows(questions: Mapping[tuple[type[ProtocolMachine], int, int, str], Setup]) -> list[Any]:
    """Those without a crash; not always those that need more than three messages and processes."""
    return [
        pytest.param(
            machine,
            n,
            m,
            setup,
            id=f"{machine.__module__}-{machine.__name__}-{n}-{m}",
            marks=[pytest.mark.slow] * (n * m > 6),
        )
        for (machine, n, m, _), setup in questions.items()
        if setup.crash is None
    ]


SMALLER = {(machine, n, max(1, m - 1), setup): facts for (machine, n, m, setup), facts in VARIATIONS.items()}


@pytest.mark.parametrize(("machine", "n", "m", "setup"), [*rows(FAULTS), *rows(SMALLER)])
def test_every_broken_protocol_and_every_variation(
    machine: type[ProtocolMachine], n: int, m: int, setup: Setup
) -> None:
    never_ends = machine.__name__ in NEVER_END
    both = question(machine, n, m, setup.channel, sends=setup.sends, parameters=setup.parameters)
    assert agree(both, [(1, True)], FEW if never_ends else ENOUGH) != never_ends


@pytest.mark.parametrize(
    ("machine", "catch"),
    [row for row in BROKEN_PROGRAMS if row[1].setup.crash is None],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_protocol_that_only_a_program_shows_to_be_broken(
    machine: type[ProtocolMachine], catch: ProgramCatch
) -> None:
    setup, script = catch.setup, notation.parse(catch.program)
    assert agree(question(machine, channel=setup.channel, program=script, parameters=setup.parameters))


# -- a user's own protocols --------------------------------------------------------------------------------------------


class Whatever(Unordered):
    """Its local states are any Python values; it ranks no process and says nothing."""

    symmetric = False
    follows: Mapping[Any, Any] = {None: 1, 1: "x", "x": frozenset({1, "a"}), frozenset({1, "a"}): (1.0, b"q", None)}

    def initial(self, i: int) -> Any:
        return None if i else 1

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, (), packet)
        return [step._replace(state=self.follows.get(state, 2**80))]


class GivesOnRequest(Unordered):
    """Keeps what it receives until the application asks for it; which its rule looks at."""

    symmetric = False
    rules = {
        "gives a message of P1": lambda _, t: t.action == "deliver" and t.message is not None and not t.message.sender
    }

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step((*state, packet.message))]

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return [Step(state[1:], (), [AppEvent("deliver", state[0])])] if state else []


def test_a_rule_sees_the_message_that_the_application_asked_for() -> None:
    both = question(GivesOnRequest, 2, 2)
    assert agree(both)
    assert "gives a message of P1" in both.native().reached


class TurnsRound(Unordered):
    """May go round in a circle for ever, so that there is no rank; the first process does not."""

    symmetric = False
    witnesses = {"is-at-two": lambda _machine, _process, state: state == 2}
    invariants = {"is-never-at-three": lambda _machine, _process, state: state != 3}

    def initial(self, i: int) -> Any:
        return 0

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(state=state) for step in super().send(i, (), message)] if state != 1 else []

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [("turn", Step((state + 1) % 3)), ("skip", Step((state + i) % 4))] if i else []

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [step._replace(state=other) for step in super().on_packet(i, (), packet) for other in {state, 0}]


class GoesTheLongWay(Unordered):
    """Packets go by way of the sender itself; what a packet's kind is called means nothing."""

    symmetric = False

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [Step((), [Packet(i, i, "", message, frozenset({i}))], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        if packet.kind:
            return super().on_packet(i, (), packet)
        return [Step((), [Packet(i, packet.message.receiver, "message", packet.message)])]


class Nudges(ProtocolMachine):
    """Each message comes with a packet that says nothing: a process that took one in must look up before it goes on."""

    promises = "asynchronous"
    symmetric = True

    def initial(self, i: int) -> bool:
        return False

    def send(self, i: int, state: bool, message: Message) -> Sequence[Step]:
        packets = [Packet(i, message.receiver, "message", message), Packet(i, message.receiver, "nudge")]
        return [Step(state, packets, [AppEvent("send", message)])]

    def deliverable(self, i: int, state: bool, packet: Packet) -> bool:
        return not state

    def on_packet(self, i: int, state: bool, packet: Packet) -> Sequence[Step]:
        if packet.message is None:
            return [Step(True)]
        return [Step(state, (), [AppEvent("deliver", packet.message)])]

    def internal(self, i: int, state: bool) -> Sequence[tuple[str, Step]]:
        return [("look up", Step(False))] if state else []

    def renamed(self, state: bool, renaming: Renaming) -> bool:
        return state


class DeliversUnasked(Unordered):
    """Delivers a message that nobody may have submitted yet."""

    symmetric = False

    def initial(self, i: int) -> Any:
        return 0

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [Step(state, (), [AppEvent("send", message)])] if i == 0 else []

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [("guess", Step(1, (), [AppEvent("deliver", FreeMessage(0, (1,), 1))]))] if (i, state) == (1, 0) else []


def another(**overrides: Any) -> type[ProtocolMachine]:
    """The pass-through baseline with other methods, which distinguish processes."""
    return variant(Unordered, symmetric=False, **overrides)


def sends(change: Callable[[Step], Step]) -> Callable[..., Sequence[Step]]:
    return lambda self, i, state, message: [change(step) for step in Unordered.send(self, i, (), message)]


SaysTwiceThatItSent = another(send=sends(lambda step: step._replace(events=[*step.events] * 2)))
DeliversToTheFirst = another(
    send=sends(lambda step: step._replace(packets=[packet._replace(destination=0) for packet in step.packets]))
)
#: Takes a delivery back and makes it again, without saying beforehand that it may.
TakesBack = another(
    on_packet=lambda self, i, state, packet: [
        Step((), (), [AppEvent(kind, packet.message) for kind in ("deliver", "undeliver", "deliver")])
    ]
)


@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize(
    ("kind", "n", "m"),
    [
        (Whatever, 3, 2),
        (TurnsRound, 2, 2),
        (GoesTheLongWay, 3, 2),
        (SaysTwiceThatItSent, 2, 2),
        (DeliversUnasked, 2, 1),
        (DeliversToTheFirst, 3, 2),
        (TakesBack, 2, 2),
        (Nudges, 2, 2),
    ],
)
def test_any_protocol_of_a_users_own(kind: type[ProtocolMachine], n: int, m: int, channel: str) -> None:
    assert agree(question(kind, n, m, channel))
