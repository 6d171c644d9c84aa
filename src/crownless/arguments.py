"""The arguments of the Python functions: those of a function that answers a request are the fields of the request.

Arguments that are easily mistaken are validated: numbers, names and settings; the error is a line that names them.
Others of an undocumented type get Python's own error.
"""

import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Real
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from crownless.runtime.errors import BadInput
from crownless.runtime.memory import bytes_of
from crownless.runtime.printable import printable, with_article
from crownless.runtime.requests import Declared, declared

Kind = TypeVar("Kind")
Arguments = ParamSpec("Arguments")
Asked = TypeVar("Asked", covariant=True)
Subject = TypeVar("Subject")
Answer = TypeVar("Answer")


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


def size(name: str, given: Any) -> int:
    """A number of bytes, also as a text: `4G`."""
    memory = bytes_of(given) if isinstance(given, str) else whole_number(name, given)
    if memory is None:
        raise _refusal(name, given, "not a size of 1M or more, in M, G or T", "such as 4G, or 512M")
    return memory


def names(name: str, given: Any) -> tuple[str, ...]:
    """The names; a single name may be given as a string."""
    if isinstance(given, str):
        return (given,)
    each = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(one, str) for one in each):
        raise _refusal(name, given, "not a list of names", f'give strings, such as {name}=["…"], or one')
    return each


def orders(name: str, given: Any) -> tuple[str, ...]:
    """The names of orders that a check can decide."""
    from crownless.model_check.system.request import refuse_asynchronous

    each = names(name, given)
    refuse_asynchronous(each, f"`{name}`")
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


# -- requests ----------------------------------------------------------------------------------------------------------


class _Answers(Protocol[Arguments, Asked]):
    """Gives a function of a request, or of a subject and a request, the request's fields as arguments."""

    @overload
    def __call__(self, function: Callable[[Asked], Answer], /) -> Callable[Arguments, Answer]: ...
    @overload
    def __call__(
        self, function: Callable[[Subject, Asked], Answer], /
    ) -> Callable[Concatenate[Subject, Arguments], Answer]: ...


def answers(request: Callable[Arguments, Asked]) -> _Answers[Arguments, Asked]:
    """Gives a function, whose last argument is such a request, the options of the request as arguments; they are
    validated, and its documentation lists them.
    """
    assert isinstance(request, type)
    options = {one.name: one for one in declared(request)}

    def decorated(function: Callable[..., Any]) -> Any:
        *before, _ = inspect.signature(function).parameters.values()
        made = inspect.signature(request)
        shown = made.replace(
            parameters=[
                *before,
                *(_parameter(each, options[name]) for name, each in made.parameters.items() if name in options),
            ],
            return_annotation=inspect.signature(function).return_annotation,
        )

        @wraps(function)
        def called(*positional: Any, **named: Any) -> Any:
            try:
                given = shown.bind(*positional, **named).arguments
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            subjects = [given.pop(each.name) for each in before]
            valid = {name: _valid(options[name], value) for name, value in given.items()}
            asked = request.about(*subjects, **valid) if hasattr(request, "about") else request(**valid)
            return function(*subjects, asked)

        called.__signature__ = shown  # type: ignore[attr-defined]
        called.__doc__ = "\n".join(
            [inspect.cleandoc(function.__doc__ or ""), "", "Args:", *map(_line, options.values())]
        )
        return called

    return decorated


def _parameter(field: inspect.Parameter, one: Declared) -> inspect.Parameter:
    """The argument that a field is, with the default that it shows."""
    return field if one.required else field.replace(default=one.default)


def _line(one: Declared) -> str:
    """The documentation of an argument."""
    form = {
        **dict.fromkeys(("names", "orders"), " One, or a list of several."),
        "settings": ' Such as `{"k": 3}`, or `{"k": (4, 4, 5)}`.',
    }.get(one.option.kind, "")
    return f"    {one.name}: {one.option.means}{form}"


def _valid(one: Declared, given: Any) -> Any:
    """The value of an option, in the form that the request has it."""
    name, option = one.name, one.option
    if given is None and not one.required:
        return one.default
    if option.kind == "number":
        return whole_number(name, given, int(option.least), option.most)
    valid: Callable[[str, Any], Any] = {
        "flag": lambda name, given: bool(given),
        "folder": lambda name, given: Path(given),
        "names": names,
        "objects": lambda name, given: tuple(given),
        "orders": orders,
        "program": program,
        "seconds": seconds,
        "settings": settings,
        "size": size,
    }.get(option.kind, lambda name, given: given)
    return valid(name, given)


def program(name: str, given: Any) -> Any:
    """A program, which is given by its name, its file or its text."""
    from crownless.model_check.system.request import load_program
    from crownless.spec import notation

    if isinstance(given, str):
        is_text = "\n" in given or (":" in given and not Path(given).exists())
        return notation.parse(given) if is_text else load_program(given)
    if isinstance(given, Path):
        return load_program(os.fspath(given))
    hint = "give its name, its file, its text, or what cr.program made of a text"
    return instance(name, given, notation.Script, "program", hint)
