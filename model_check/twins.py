"""Twins: values that are equal for Python although a machine can distinguish them, which engines take for one.

Engines know local states and packets by what they equal. Of two that are equal the first stands for both, which is
right only where no machine can distinguish them. So each that meets an equal one is compared with it (`difference`):

* Made of other types (1 and True), or another value (0.0 and -0.0, Decimal("1.0") and Decimal("1.00"), attributes that
  are not compared): refused.
* Only sets or mappings in them go through their elements in another order, as equal sets may that were not made in
  the same order: machines may hold such, and must not look at the order. Such a twin is kept beside the value that
  stands for it, and each input that was or will be given to one is given to the other too: the answers must be the
  same but for the order of steps and of packets on different links. So must be the invariants and witnesses. Twins
  that come of this are treated likewise (`SetOrders`).

Not seen: differences between equal objects that neither their attributes nor their `repr` show; a set's room for
more elements, by which the order of what is made of it may differ; how rules, renamings and `agree` look at an order;
more than so many orders of the sets in one value (`MOST_ORDERS`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Set
from enum import Enum
from functools import cached_property, partial
from types import FunctionType
from typing import Any, Literal, NamedTuple

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import Packet, Step

from .outside_state import slots_of

#: So many further orders of the sets in one local state or packet are compared.
MOST_ORDERS = 4

#: Types whose values cannot be distinguished if they are equal (messages as the free workload makes them).
FIRM = frozenset({int, bool, str, bytes, type(None), type(...), FreeMessage})


class Difference(NamedTuple):
    """How a machine can distinguish two equal values, and the first parts in which they differ."""

    of: Literal["types", "value", "order"]
    one: Any
    other: Any


def difference(one: Any, other: Any, inside: tuple[tuple[int, int], ...] = ()) -> Difference | None:
    """How a machine can distinguish these equal values; None: it cannot. An order is named if nothing else differs."""
    if one is other:
        return None
    kind = type(one)
    if kind is not type(other):
        return Difference("types", one, other)
    if kind in FIRM:
        return None
    if isinstance(one, tuple):
        if not _are_compared_as_tuples(kind) and not tuple.__eq__(one, other):
            return Difference("value", tuple(one), tuple(other))
        order = None
        for part, of_other in zip(one, other, strict=True):
            if part is not of_other and (found := difference(part, of_other, inside)) is not None:
                if found.of != "order":
                    return found
                order = order or found
        return (_of_attributes(one, other, inside) or order) if kind.__dictoffset__ else order
    if kind is frozenset:
        return _of_elements(one, other, inside)
    if kind is float or kind is complex:
        return None if repr(one) == repr(other) else Difference("value", one, other)
    return _of_objects(one, other, inside)


def are_plainly_the_same(one: Any, other: Any) -> bool:
    """True of nearly all equal tuples that cannot be distinguished, and of nothing else; made to be fast."""
    kind = type(one)
    return (
        kind is type(other)
        and issubclass(kind, tuple)
        and _are_compared_as_tuples(kind)
        and not kind.__dictoffset__
        and _are_of_the_same(one, other)
    )


def _are_compared_as_tuples(kind: Any) -> bool:
    """True if tuples of this kind are equal where their parts are."""
    return kind.__eq__ is tuple.__eq__


def _are_of_the_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    for part, of_other in zip(one, other):  # noqa: B905 equal tuples are of one length
        if part is not of_other:
            kind = type(part)
            if kind is not type(of_other) or (
                not _are_of_the_same(part, of_other) if kind is tuple else kind not in FIRM
            ):
                return False
    return True


def _of_objects(one: Any, other: Any, inside: tuple[tuple[int, int], ...]) -> Difference | None:
    pair = (id(one), id(other))
    if pair in inside or isinstance(one, Enum):
        return None
    inside = (*inside, pair)
    if isinstance(one, Set | Mapping):
        found = _of_elements(one, other, inside)
        if isinstance(one, Mapping) and (found is None or found.of == "order"):
            found = _first([found, *(_of_parts(one[key], other[key], inside) for key in one)])
    elif isinstance(one, list | deque):
        same_length = len(one) == len(other)
        parts = zip(one, other, strict=True) if same_length else ()
        found = _first(_of_parts(*pair, inside) for pair in parts) if same_length else Difference("value", one, other)
    elif hasattr(one, "tobytes"):
        found = None if one.tobytes() == other.tobytes() else Difference("value", one, other)
    else:
        show = None if callable(one) else _repr_of_its_own(type(one))
        known = show is None or show(one) == show(other)
        found = None if known else Difference("value", one, other)
    return _first([found, _of_attributes(one, other, inside)])


def _repr_of_its_own(kind: type) -> Callable[[Any], str] | None:
    """The `repr` of a type that is not written in Python, such as a decimal number, which alone shows its values; None
    if there is none, and where attributes show them.
    """
    if hasattr(kind, "__struct_fields__"):
        return None
    shown = (vars(base)["__repr__"] for base in kind.__mro__[:-1] if "__repr__" in vars(base))
    return next((show for show in shown if not isinstance(show, FunctionType)), None)


def _of_parts(one: Any, other: Any, inside: tuple[tuple[int, int], ...]) -> Difference | None:
    """The difference between parts of two equal values, which need not be equal themselves."""
    try:
        equal = one is other or bool(one == other)
    except Exception:  # an array has no truth value
        equal = True
    return difference(one, other, inside) if equal else Difference("value", one, other)


def _first(found: Iterable[Difference | None]) -> Difference | None:
    """The first difference; an order only if there is nothing else."""
    all_found = [each for each in found if each is not None]
    return next((each for each in all_found if each.of != "order"), all_found[0] if all_found else None)


def _of_elements(one: Any, other: Any, inside: tuple[tuple[int, int], ...]) -> Difference | None:
    ones, others = list(one), list(other)
    if ones == others:
        pairs = zip(ones, others, strict=True)
        return _first(difference(*pair, inside) for pair in pairs if pair[0] is not pair[1])
    equal = {element: element for element in others}
    if len(ones) != len(others) or any(element not in equal for element in ones):
        return Difference("value", one, other)
    return _first(
        [*(difference(element, equal[element], inside) for element in ones), Difference("order", ones, others)]
    )


def _of_attributes(one: Any, other: Any, inside: tuple[tuple[int, int], ...]) -> Difference | None:
    """The difference between the attributes, which need not be equal."""
    kind = type(one)
    names = dict.fromkeys(
        [slot for base in kind.__mro__ for slot in slots_of(base)]
        + [
            name
            for value in (one, other)
            for name in (*getattr(value, "__dict__", ()), *getattr(kind, "__struct_fields__", ()))
            if not isinstance(getattr(kind, name, None), cached_property)
        ]
    )
    return _first(_of_parts(getattr(one, name, None), getattr(other, name, None), inside) for name in names)


def may_have_an_order(value: Any) -> bool:
    """May there be another value that differs from this one only in the order of what is in a set?"""
    if type(value) in FIRM:
        return False
    if isinstance(value, tuple) and not type(value).__dictoffset__:
        return not FIRM.issuperset(map(type, value)) and any(map(may_have_an_order, value))
    if isinstance(value, frozenset) and len(value) < 2:
        return any(map(may_have_an_order, value))
    return not isinstance(value, float | complex | Enum)


#: A process and its local state.
At = tuple[int, Any]


class SetOrders:
    """Local states and packets that differ only in the order of what is in a set, and what they are given."""

    def __init__(
        self,
        answer: Callable[[str, int, Any, Any], Any],
        judge: Callable[[int, Any, Any], None],
        same: Callable[[int, Any, Any], None],
        refuse: Callable[[str, int, Any, Any, tuple[Any, Any]], None],
    ) -> None:
        """`answer` calls an input; `judge` compares what is said of two local states; `same` is called with each two
        equal values that two answers gave; `refuse` raises where answers differ.
        """
        self._answer, self._judge, self._same, self._refuse = answer, judge, same, refuse
        #: True once there was a local state or packet that may have a twin.
        self.kept = False
        #: The inputs given in each local state, and the local states in which each packet was given.
        self._given: dict[At, dict[tuple[str, Any], Any]] = {}
        self._takers: dict[Packet, dict[tuple[str, int, Any], Any]] = {}
        #: The twins of what stands for them.
        self._states: dict[At, list[Any]] = {}
        self._packets: dict[Packet, list[Packet]] = {}
        self._left: deque[Callable[[], None]] = deque()
        self._works = False

    def new(self, value: Any) -> None:
        """There is a local state or packet that was not there before."""
        self.kept = self.kept or may_have_an_order(value)

    def called(self, method: str, i: int, state: Any, given: Any) -> None:
        """An input was given to a machine."""
        inputs = self._given.setdefault((i, state), {})
        if (method, given) in inputs:
            return
        inputs[method, given] = state
        if isinstance(given, Packet):
            self._takers.setdefault(given, {})[method, i, state] = state
        if self._states or self._packets:
            self._compare(method, i, state, given, self._states.get((i, state), ()), self._twins_of(given))
            self._work()

    def _twins_of(self, given: Any) -> Iterable[Any]:
        return self._packets.get(given, ()) if isinstance(given, Packet) else ()

    def local_state(self, i: int, known: Any, value: Any) -> None:
        """A local state was met that is a twin of a known one."""
        if _is_new(self._states.setdefault((i, known), []), value):
            self._left.append(partial(self._judge, i, known, value))
            for (method, given), state in list(self._given.get((i, known), {}).items()):
                self._compare(method, i, state, given, [value], self._twins_of(given))
            self._work()

    def packet(self, known: Packet, value: Packet) -> None:
        """Likewise of a packet."""
        if _is_new(self._packets.setdefault(known, []), value):
            for (method, i, _), state in list(self._takers.get(known, {}).items()):
                self._compare(method, i, state, known, self._states.get((i, state), ()), [value])
            self._work()

    def _compare(
        self, method: str, i: int, state: Any, given: Any, states: Iterable[Any], packets: Iterable[Any]
    ) -> None:
        """Has the answers compared for each of these twins of the local state and of what is given."""
        for twin in (state, *states):
            for other in (given, *packets):
                if twin is not state or other is not given:
                    self._left.append(partial(self._compare_two, method, i, state, given, (twin, other)))

    def _compare_two(self, method: str, i: int, state: Any, given: Any, twins: tuple[Any, Any]) -> None:
        first, second = (self._answer(method, i, *arguments) for arguments in ((state, given), twins))
        if isinstance(first, bool):
            if first != second:
                self._refuse(method, i, state, given, twins)
            return
        left = list(map(_in_one_order, second))
        for step in map(_in_one_order, first):
            if step not in left:
                self._refuse(method, i, state, given, twins)
            other = left.pop(left.index(step))
            self._same(i, step[1], other[1])
            for packet, of_other in zip(step[2], other[2], strict=True):
                self._same(i, packet, of_other)
        if left:
            self._refuse(method, i, state, given, twins)

    def _work(self) -> None:
        """Makes the comparisons that are left, which may add to them."""
        if not self._works:
            self._works = True
            try:
                while self._left:
                    self._left.popleft()()
            finally:
                self._works = False


def _is_new(twins: list[Any], value: Any) -> bool:
    """Adds a twin if it is none of those that are there, and they are not too many."""
    is_new = len(twins) < MOST_ORDERS and all(difference(each, value) is not None for each in twins)
    if is_new:
        twins.append(value)
    return is_new


def _in_one_order(named: Any) -> tuple[str, Any, tuple[Packet, ...], tuple[Any, ...]]:
    """A step with its name; the order of packets on different links has no effect."""
    name, (state, packets, events) = ("", named) if isinstance(named, Step) else named
    return name, state, tuple(sorted(packets, key=lambda packet: packet[:2])), tuple(events)
