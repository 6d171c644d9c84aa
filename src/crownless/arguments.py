"""Arguments given from Python: what cannot be one is refused in a line that names it."""

from __future__ import annotations

import functools
import math
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

#: The options of the command line of which messages speak, and the arguments that say the same.
_OPTIONS = {
    "-n/--processes": "processes",
    "-m/--messages": "messages",
    "--checkpoint": "checkpoint",
    "--clock": "clocks",
    "--column": "columns",
    "--crash": "crash",
    "--engine": "engine",
    "--format": "format",
    "--kind": "kinds",
    "--max-memory": "max_memory",
    "--pattern": "pattern",
    "--program": "program",
    "--reduce": "reductions",
    "--replies": "replies",
    "--restarts": "restarts",
    "--resume": "resume",
    "--self-sends": "self_sends",
    "--send": "send",
    "--sends": "sends",
    "--ticks": "ticks",
    "--workers": "workers",
}
_OPTION = re.compile("|".join(rf"{re.escape(option)}(?![\w-])" for option in _OPTIONS))


def speaks_of_arguments(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, whose errors speak of arguments where those of the command line speak of options."""

    @functools.wraps(function)
    def in_python(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except BadInput as error:
            error.message, error.hint = map(_named, (error.message, error.hint))
            raise

    return in_python


def _named(text: str) -> str:
    return _OPTION.sub(lambda option: f"`{_OPTIONS[option[0]]}`", text)


def _refusal(name: str, given: Any, problem: str, hint: str) -> BadInput:
    try:
        shown = printable(repr(given))
    except Exception:  # of any kind: it is the user's own code
        shown = ""
    if not shown or len(shown) > 60:
        shown = f"a {type(given).__name__}"
    return BadInput(f"`{name}` {shown}: {problem}", hint=hint)


def optional(
    of: Callable[Concatenate[str, Any, Arguments], Result],
    name: str,
    given: Any,
    *args: Arguments.args,
    **kwargs: Arguments.kwargs,
) -> Result | None:
    """The argument as `of` has it; None stays None."""
    return None if given is None else of(name, given, *args, **kwargs)


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
    """The names; one name alone may be given as it is."""
    if isinstance(given, str):
        return (given,)
    each = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, str) for one in each):
        raise _refusal(name, given, "not a list of names", f'give strings, such as {name}=["…"], or one')
    return each


def text(name: str, given: Any) -> str:
    """A string."""
    if not isinstance(given, str):
        raise _refusal(name, given, "not a string", "give one")
    return given


def texts(name: str, given: Any) -> dict[str, str]:
    """Strings by name."""
    if not isinstance(given, Mapping) or not all(isinstance(one, str) for pair in given.items() for one in pair):
        raise _refusal(name, given, "not strings by name", "give a dictionary")
    return dict(given)


def lines(name: str, given: Any) -> Iterator[str]:
    """The lines, one after the other."""
    if not isinstance(given, Iterable):
        raise _refusal(name, given, "neither a file nor lines", "give a path, or an iterable of strings")
    for line in given:
        yield text(name, line)


def truth(name: str, given: Any) -> bool:
    """True or false."""
    if not isinstance(given, bool):
        raise _refusal(name, given, "neither True nor False", "give one of the two")
    return given


def function(name: str, given: Any) -> Callable[..., Any]:
    """Something that can be called."""
    if not callable(given):
        raise _refusal(name, given, "not a function", "give one")
    return cast("Callable[..., Any]", given)


def path(name: str, given: Any) -> Path:
    """A path."""
    if not isinstance(given, str | os.PathLike):
        raise _refusal(name, given, "not a path", "give a string or a pathlib.Path")
    if "\0" in os.fsdecode(given):
        raise _refusal(name, given, "not a path: it has a null character", "leave that out")
    return Path(given)


def settings(name: str, given: Any) -> dict[str, Any]:
    """A dictionary from names to numbers, or tuples of numbers."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise _refusal(name, given, "not a dictionary", f'such as {name}={{"k": 3}}')
    return {key: _setting(f'{name}["{key}"]', value) for key, value in given.items()}


def _setting(name: str, given: Any) -> int | tuple[int, ...]:
    each = tuple(given) if isinstance(given, list | tuple) else (given,)
    if not each or not all(map(_is_number, each)):
        raise _refusal(name, given, "not a whole number", "give one, or a tuple of one for each process")
    numbers = tuple(map(operator.index, each))
    return numbers if isinstance(given, list | tuple) else numbers[0]


def instances(name: str, given: Any, kind: type[Result], called: str) -> tuple[Result, ...]:
    """Several objects of that class."""
    each = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    if not all(isinstance(one, kind) for one in each):
        raise _refusal(name, given, f"not a {called}", f"give objects of classes derived from {kind.__name__}")
    return each


def instance(name: str, given: Any, kind: type[Result], called: str, hint: str) -> Result:
    """An object of that class."""
    if not isinstance(given, kind):
        raise _refusal(name, given, f"not a {called}", hint)
    return given
