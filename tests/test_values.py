"""The contract of values: of what local states and stamps are made, and when equal ones can be distinguished."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.model_check.values import distinguishable_parts, refused_part
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


@dataclass(frozen=True, eq=False)
class Unequal:
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


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
VALUES = st.recursive(
    PLAIN | st.sampled_from([*Mode, *Level]),
    lambda parts: (
        st.lists(parts).map(tuple)
        | st.frozensets(parts)
        | parts.map(State)
        | parts.map(Frozen)
        | st.dictionaries(parts, parts).map(FrozenMapping)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_values_of_the_contract_are_taken(value: Any) -> None:
    assert refused_part(value, "state") is None
    assert distinguishable_parts(value, value) is None


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
        ((1.0, math.nan), "state[1] is not a number (nan)", "use None in its place"),
        ((Open(1),), "state[0] is an Open, which can change", "declare it @dataclass(frozen=True)"),
        (Unequal(1), "state is an Unequal, whose field part is not compared", "have equality compare all fields"),
        (Hidden(1), "state is a Hidden, whose field part is not compared", "have equality compare all fields"),
        (object(), "state is an object", "build local states and packets of "),
    ],
)
def test_what_is_no_value_is_refused_with_its_path(value: Any, problem: str, hint: str) -> None:
    refused = refused_part(value, "state")
    assert refused is not None
    assert refused.problem == problem
    assert refused.hint.startswith(hint)


@pytest.mark.parametrize(
    ("one", "other", "parts"),
    [
        (1, True, (1, True)),
        ((1, (2,)), (1, (2.0,)), (2, 2.0)),
        (frozenset([1, "x"]), frozenset(["x", True]), (1, True)),
        (State(0), Other(0), (State(0), Other(0))),
        ((0.0,), (-0.0,), (0.0, -0.0)),
        (Frozen(0.0), Frozen(-0.0), (0.0, -0.0)),
        (FrozenMapping({1: 0}), FrozenMapping({1: False}), (0, False)),
        (FrozenMapping({1: 0}), FrozenMapping({True: 0}), (1, True)),
        (Level.LOW, 1, (Level.LOW, 1)),
    ],
)
def test_equal_values_that_a_machine_can_distinguish(one: Any, other: Any, parts: tuple[Any, Any]) -> None:
    assert one == other
    assert repr(distinguishable_parts(one, other)) == repr(parts)
    assert repr(distinguishable_parts(other, one)) == repr(parts[::-1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: (1, "two", (3.5, None), b"5"),
        lambda: frozenset([0, 8]),
        lambda: Frozen((1, frozenset([2, 3]))),
        lambda: FrozenMapping({1: (2,), 3: 4}),
        lambda: (Message("x", 0, (1,)), Mode.IDLE),
    ],
)
def test_equal_values_that_nothing_distinguishes(make: Any) -> None:
    assert distinguishable_parts(make(), make()) is None


def test_sets_in_another_order_are_one_value() -> None:
    assert distinguishable_parts((frozenset([0, 8]),), (frozenset([8, 0]),)) is None
