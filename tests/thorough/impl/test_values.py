"""The contract of values: of what local states and stamps are made, and which of them have one key."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from native_engine_setup import question

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.rst import Rst
from crownless.model_check.system.values import Refused, key_of, same_values
from crownless.spec.computation import Message


class Mode(Enum):
    IDLE = "idle"


class Level(IntEnum):
    LOW = 1


class State(NamedTuple):
    queue: Any
    mode: Any = Mode.IDLE


class Other(NamedTuple):
    queue: Any
    mode: Any = Mode.IDLE


@dataclass(frozen=True)
class Frozen:
    part: Any


@dataclass
class Open:
    part: int


@dataclass(frozen=True)
class Hidden:
    part: int = field(compare=False)


class FrozenMapping(Mapping[Any, Any]):
    def __init__(self, items: dict[Any, Any]) -> None:
        self._items = items

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))


PLAIN = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([0.0, -0.0, 1.0, "", b"", *Level])
VALUES = st.recursive(
    PLAIN,
    lambda parts: (
        st.lists(parts, max_size=2).map(tuple)
        | st.frozensets(parts, max_size=2)
        | parts.map(State)
        | parts.map(Other)
        | parts.map(Frozen)
        | st.dictionaries(parts, parts, max_size=1).map(FrozenMapping)
    ),
    max_leaves=3,
)


@given(VALUES, VALUES)
def test_values_have_one_key_if_nothing_distinguishes_them(one: Any, other: Any) -> None:
    assert (key_of(one) == key_of(other)) == (described(one) == described(other))
    assert hash(key_of(one)) is not None


def described(value: Any) -> str:
    """The value with the types of all its parts, as text."""
    if isinstance(value, frozenset):
        return f"frozenset{sorted(map(described, value))}"
    if isinstance(value, FrozenMapping):
        return f"FrozenMapping{sorted((described(key), described(part)) for key, part in value.items())}"
    if isinstance(value, tuple):
        return f"{type(value).__name__}{[*map(described, value)]}"
    return f"Frozen({described(value.part)})" if isinstance(value, Frozen) else f"{type(value).__name__} {value!r}"


@pytest.mark.parametrize(
    ("value", "problem", "hint"),
    [
        ([], "state is a list", "use a tuple"),
        (State((1, 2, [3])), "state.queue[2] is a list", "use a tuple"),
        (State(((), deque())), "state.queue[1] is a deque", "use a tuple"),
        (Frozen({1}), "state.part is a set", "use a frozenset"),
        ((0, {}), "state[1] is a dict", "use a tuple of pairs, or a frozenset of them"),
        (frozenset([(Decimal(1),)]), "an element of state[0] is a Decimal", "build local states and packets of "),
        (FrozenMapping({"a": [1]}), "state['a'] is a list", "use a tuple"),
        (FrozenMapping({Decimal(1): 1}), "a key of state is a Decimal", "build local states and packets of "),
        ((np.int64(1),), "state[0] is an int64", "build local states and packets of "),
        ((Open(1),), "state[0] is an Open, which can change", "declare it @dataclass(frozen=True)"),
        (object(), "state is an object", "build local states and packets of "),
    ],
)
def test_what_is_no_value_is_refused_with_its_path(value: Any, problem: str, hint: str) -> None:
    with pytest.raises(Refused) as refused:
        key_of(value)
    assert refused.value.said("state") == problem
    assert refused.value.hint.startswith(hint)


def test_a_view_of_a_dictionary_is_refused() -> None:
    """Also from Python 3.12 on, where one of a mapping that can be hashed can be hashed."""
    views: tuple[Mapping[str, int], ...] = ({}, FrozenMapping({}))
    for viewed in views:
        with pytest.raises(Refused, match="mappingproxy") as refused:
            key_of((MappingProxyType(viewed),))
        assert refused.value.hint == "use a tuple of pairs, or a frozenset of them"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (1, 1.0), (0.0, -0.0), (Level.LOW, 1), ((1, (2,)), (1, (2.0,))), (State(0), Other(0)),
        (State(0), (0, Mode.IDLE)), (frozenset([1, "x"]), frozenset(["x", True])), (Hidden(1), Hidden(2)),
        (FrozenMapping({1: 0}), FrozenMapping({True: 0})),
    ],
)  # fmt: skip
def test_equal_values_that_a_machine_can_distinguish(one: Any, other: Any) -> None:
    assert one == other
    assert not same_values(one, other)


def test_equal_values_that_nothing_distinguishes() -> None:
    def make(*order: int) -> Any:
        return (frozenset(order), Frozen((1, Message("x", 0, (1,)))), FrozenMapping({1: (2,)}), 3.5, b"5", None)

    assert same_values(make(0, 8), make(8, 0))


# -- values in tables --------------------------------------------------------------------------------------------------


class Relaxed(Rst):
    """Lets everything through once a process has, by a step of its own, turned its mode into an equal value."""

    symmetric = False
    invariants = {}
    rules = {}
    modes: tuple[Any, Any]

    def initial(self, i: int) -> Any:
        return super().initial(i), self.modes[0]

    def _with(self, mode: Any, steps: Sequence[Step]) -> list[Step]:
        return [step._replace(state=(step.state, mode)) for step in steps]

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return self._with(state[1], super().send(i, state[0], message))

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return repr(state[1]) != repr(self.modes[0]) or super().deliverable(i, state[0], packet)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return self._with(state[1], super().on_packet(i, state[0], packet))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [("relax", Step((state[0], self.modes[1])))]


class StampsTruths(Rst):
    """Lets through what is stamped with truths, which equal the numbers that other packets are stamped with."""

    symmetric = False
    rules = {}

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        (packet,) = step.packets
        truths = tuple(tuple({0: False, 1: True}.get(entry, entry) for entry in row) for row in packet.stamp)
        return [step, step._replace(packets=[packet._replace(stamp=truths)])]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.stamp[0][0] is False or super().deliverable(i, state, packet)


@pytest.mark.parametrize(
    "machine",
    [
        type("Relaxed", (Relaxed,), {"modes": modes})
        for modes in ((1, True), (0.0, -0.0), (State(0), Other(0)), (Hidden(0), Hidden(1)))
    ]
    + [StampsTruths],
)
def test_equal_values_of_different_types_are_not_taken_for_one(machine: type[ProtocolMachine]) -> None:
    both = question(machine, 3, 3)
    plain, native = both.plain(), both.native(1)
    assert plain.states == native.states
    assert "causal" in plain.violated.keys() & native.violated.keys()


def test_equal_sets_in_any_order_are_one_value() -> None:
    machine = type("Relaxed", (Relaxed,), {"modes": (frozenset([0, 8]), frozenset([8, 0]))})
    both, right = question(machine, 3, 2), question(Rst, 3, 2)
    assert both.plain().states == both.native(1).states == right.plain().states
