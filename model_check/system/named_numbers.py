"""Numbers that know their origin: a guard, run on them, shows which comparison fails, and with which numbers."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from crownless.impl.protocol import Packet, ProtocolMachine

_COMPARISONS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<", "eq": "=", "ne": "≠"}
_ARITHMETIC = {"add": "+", "sub": "-"}


class NamedNumber(int):
    """An int with a name, which records its comparisons in `compared`."""

    name: str
    compared: list[str]

    def __new__(cls, value: int, name: str, compared: list[str]) -> "NamedNumber":
        number = super().__new__(cls, value)
        number.name, number.compared = name, compared
        return number

    def __hash__(self) -> int:
        return hash(int(self))


def _comparison(holds: Callable[[int, int], bool], sign: str) -> Callable[[NamedNumber, Any], Any]:
    def compare(self: NamedNumber, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        result = holds(int(self), int(other))
        said = f"{_with_value(self)} {sign} {_with_value(other)}: {'yes' if result else 'no'}"
        # If both sides are named, Python may try both.
        if not self.compared or self.compared[-1] != said:
            self.compared.append(said)
        return result

    return compare


def _arithmetic(computed: Callable[[int, int], int], sign: str, *, right: bool) -> Callable[[NamedNumber, int], int]:
    """The method of a named number to the left or to the right of the sign."""

    def compute(self: NamedNumber, other: int) -> NamedNumber:
        a, b = (other, self) if right else (self, other)
        return NamedNumber(computed(int(a), int(b)), f"{_name(a)} {sign} {_name(b)}", self.compared)

    return compute


for _method, _sign in _COMPARISONS.items():
    setattr(NamedNumber, f"__{_method}__", _comparison(getattr(operator, _method), _sign))
for _method, _sign in _ARITHMETIC.items():
    setattr(NamedNumber, f"__{_method}__", _arithmetic(getattr(operator, _method), _sign, right=False))
    setattr(NamedNumber, f"__r{_method}__", _arithmetic(getattr(operator, _method), _sign, right=True))


def _name(number: Any) -> str:
    return number.name if isinstance(number, NamedNumber) else str(number)


def _with_value(number: Any) -> str:
    return f"{number.name} = {int(number)}" if isinstance(number, NamedNumber) else str(number)


def comparisons(
    machine: ProtocolMachine, process: int, state: Any, packet: Packet, processes: Sequence[str]
) -> list[str]:
    """The guard's comparisons for this packet, in order, each with its outcome. `processes`: their names.

    None for a guard that compares no numbers of the local state or the stamp, or cannot be run on such numbers.
    """
    compared: list[str] = []
    try:
        named_state = _named(state, "", compared, processes)
        named_packet = packet._replace(stamp=_named(packet.stamp, "stamp", compared, processes))
        machine.deliverable(process, named_state, named_packet)
    except Exception:  # any exception: it may be a user's code, not written for such numbers
        return []
    return compared


def _named(value: Any, name: str, compared: list[str], processes: Sequence[str]) -> Any:
    """The value, with its numbers named by their place in it; anything but tuples of numbers is unchanged."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return NamedNumber(value, name or "state", compared)
    if isinstance(value, Packet):
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        if type(value).__module__ == "crownless.spec.computation":
            return value
        prefix = f"{name}." if name else ""
        fields = zip(value._fields, value, strict=True)
        return type(value)(*(_named(part, f"{prefix}{field}", compared, processes) for field, part in fields))
    if type(value) is tuple:
        by_process = len(value) == len(processes)
        return tuple(
            _named(part, f"{name or 'state'}[{processes[k] if by_process else k}]", compared, processes)
            for k, part in enumerate(value)
        )
    return value
