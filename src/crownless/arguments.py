"""Validation of arguments that are easily mistaken: numbers, names and settings; the error is a line that names them.

Other arguments of an undocumented type get Python's own error.
"""

import math
import operator
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, TypeVar

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable, with_article

Kind = TypeVar("Kind")


def _refusal(name: str, given: Any, problem: str, hint: str) -> BadInput:
    try:
        shown = printable(repr(given))
    except Exception:  # of any kind: it is the user's own code
        shown = ""
    if not shown or len(shown) > 60:
        shown = with_article(type(given).__name__)
    return BadInput(f"`{name}` {shown}: {problem}", hint=hint)


def whole_number(name: str, given: Any, least: int = 1, most: int | None = None) -> int:
    """A whole number, also one of NumPy's."""
    hint = f"give {least} or more" if most is None else f"give {least} to {most}"
    if not _is_number(given):
        raise _refusal(name, given, "not a whole number", hint)
    number = operator.index(given)
    if number < least:
        raise _refusal(name, number, "too small", hint)
    if most is not None and number > most:
        raise _refusal(name, number, "too large", hint)
    return number


def optional_number(name: str, given: Any, least: int = 1, most: int | None = None) -> int | None:
    """Likewise; None stays None."""
    return None if given is None else whole_number(name, given, least, most)


def _is_number(given: Any) -> bool:
    return hasattr(type(given), "__index__") and not isinstance(given, bool)


def seconds(name: str, given: Any) -> float:
    """A number of seconds."""
    hint = "give 0 or more, or None for no limit"
    if isinstance(given, bool) or not isinstance(given, Real) or math.isnan(given):
        raise _refusal(name, given, "not a number of seconds", hint)
    if given < 0:
        raise _refusal(name, given, "too small", hint)
    return float(given)


def names(name: str, given: Any) -> tuple[str, ...]:
    """The names; a single name may be given as a string."""
    if isinstance(given, str):
        return (given,)
    each = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, str) for one in each):
        raise _refusal(name, given, "not a list of names", f'give strings, such as {name}=["…"], or one')
    return each


def settings(name: str, given: Any) -> dict[str, int | tuple[int, ...]]:
    """A dictionary from names to numbers, or tuples of numbers."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise _refusal(name, given, "not a dictionary", f'such as {name}={{"k": 3}}')
    numbers: dict[str, int | tuple[int, ...]] = {}
    for key, value in given.items():
        each = tuple(value) if isinstance(value, list | tuple) else (value,)
        if not each or not all(map(_is_number, each)):
            hint = "give one, or a tuple with one per process"
            raise _refusal(f'{name}["{key}"]', value, "not a whole number", hint)
        numbers[key] = tuple(map(operator.index, each)) if isinstance(value, list | tuple) else operator.index(value)
    return numbers


def instance(name: str, given: Any, kind: type[Kind], called: str, hint: str) -> Kind:
    """An object of that class."""
    if not isinstance(given, kind):
        raise _refusal(name, given, f"not a {called}", hint)
    return given
