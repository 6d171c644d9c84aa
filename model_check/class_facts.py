"""Validation of a protocol class: its declared facts, its parameters, its predicates, its methods.

Looked at once, when a check is resolved; `WrongMachine` says in one line what is wrong.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import Parameter, ProtocolMachine, Setting
from crownless.spec.enumeration import SENDS
from crownless.spec.errors import unknown_name
from crownless.spec.orders import ORDERS

from .wrong_machine import ARGUMENTS, OF_PREDICATES, PREDICATES, WrongMachine, machine_errors, missing_method, shown

#: Facts that are names, and the names that there are.
NAMES: Mapping[str, Iterable[str]] = {"promises": ORDERS, "needs_channel": CHANNELS, "sends": SENDS}
#: What messages call such a name.
THINGS = {"promises": "an order", "needs_channel": "a channel", "sends": "a kind of sends"}
#: The methods without which there is no protocol.
NEEDED = ("initial", "send", "on_packet")
#: From which likeness on a name is taken for a misspelt one, unless it is an inflection such as `received`.
NEARLY = 0.85
INFLECTIONS = ("d", "ed", "s", "r")
A_PARAMETER = 'such as {"k": Parameter("how many may wait", lambda n: n, 1, "at least one must")}'


class Fact(NamedTuple):
    """A fact that a class declares: what its value must be, and the message if it is not."""

    is_valid: Callable[[Any], bool]
    problem: str
    hint: str


def _is_bound(value: Any) -> bool:
    numbers = isinstance(value, tuple | list) and len(value) == 2 and all(type(number) is int for number in value)
    return numbers and min(value) >= 1


def _is_a(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kinds)


def _of_names(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind) and all(isinstance(name, str) for name in value)  # type: ignore[attr-defined]


def _such_predicates(fact: str) -> str:
    return f'such as {fact} = {{"its-name": lambda {", ".join(OF_PREDICATES[PREDICATES[fact]])}: …}}'


FACTS = {
    **{
        fact: Fact(_is_a(bool), "is neither True nor False", f"{fact} = True, or leave it out")
        for fact in ("admits_self_sends", "admits_multicast", "rolls_back", "symmetric", "sends_before_delivery")
    },
    "bound": Fact(_is_bound, "is not two numbers, of processes and messages", "such as bound = (3, 4)"),
    "source": Fact(_is_a(str), "is not a string", 'say where the protocol is described, such as "[MF] §2"'),
    "constants": Fact(_of_names(tuple), "is not a tuple of names", 'such as constants = ("capacity",)'),
    "control_kinds": Fact(_of_names(frozenset), "is not a frozenset of names", 'such as frozenset({"request"})'),
    "parameters": Fact(_is_a(Mapping), "is not a dictionary", A_PARAMETER),
    **{fact: Fact(_is_a(Mapping), "is not a dictionary of functions", _such_predicates(fact)) for fact in PREDICATES},
}


def check_class(kind: Any) -> None:
    """Raises `WrongMachine` if this is no class of a protocol, or says of itself what cannot be."""
    if not (isinstance(kind, type) and issubclass(kind, ProtocolMachine)):
        name = getattr(kind, "__name__", shown(kind))
        raise WrongMachine(f"{name} is not a protocol", hint="derive its class from crownless.Protocol")
    for fact, known in NAMES.items():
        _check_name(kind, fact, known)
    for fact, (is_valid, problem, hint) in FACTS.items():
        if not is_valid(getattr(kind, fact)):
            raise _wrong(kind, fact, problem, hint)
    _check_parameters(kind)
    _check_predicates(kind)
    _check_methods(kind)
    _check_spelling(kind)


def make(kind: type[ProtocolMachine], n: int, parameters: Mapping[str, Setting]) -> ProtocolMachine:
    """A machine of that class for n processes; raises `WrongMachine` if it cannot be made."""
    with machine_errors(kind):
        _check_call(kind, kind, "__init__", ("n",), parameters="parameters", given="(n, ops=None, parameters=None)")
        machine = kind(n, parameters=parameters)
    for name in ("n", "ops", "settings"):
        if not hasattr(machine, name):
            raise WrongMachine(
                f"{kind.__name__}.__init__ does not set self.{name}",
                hint="call super().__init__(n, ops, parameters) first",
            )
    return machine


def _wrong(kind: type, fact: str, problem: str, hint: str) -> WrongMachine:
    return WrongMachine(f"{kind.__name__}.{fact} = {shown(getattr(kind, fact))} {problem}", hint=hint)


def _check_name(kind: type, fact: str, known: Iterable[str]) -> None:
    if not hasattr(kind, fact):
        raise WrongMachine(f"{kind.__name__} does not say what it {fact}", hint=f'{fact} = "causal", or another order')
    name = getattr(kind, fact)
    if not isinstance(name, str):
        raise _wrong(kind, fact, "is not a name", f"known: {', '.join(known)}")
    if name not in known:
        error = unknown_name(fact, name, known)
        raise _wrong(kind, fact, f"is not {THINGS[fact]}", error.hint)


def _check_parameters(kind: type[ProtocolMachine]) -> None:
    for name, known in kind.parameters.items():
        if not isinstance(name, str) or not isinstance(known, Parameter):
            raise WrongMachine(f"{kind.__name__}.parameters[{shown(name)}] is not a Parameter", hint=A_PARAMETER)
        callables = (known.default, *(each for each in (known.most, known.in_programs) if each is not None))
        if not all(map(callable, callables)) or type(known.least) is not int:
            raise WrongMachine(
                f"{kind.__name__}.parameters[{shown(name)}]: default, most and in_programs are functions of n, least "
                f"a number",
                hint=A_PARAMETER,
            )


def _check_predicates(kind: type[ProtocolMachine]) -> None:
    for fact, called in PREDICATES.items():
        for name, predicate in getattr(kind, fact).items():
            if not isinstance(name, str) or not callable(predicate):
                problem = f"{kind.__name__}.{fact}[{shown(name)}] = {shown(predicate)} is not a function"
                raise WrongMachine(problem, hint=_such_predicates(fact))
            _check_call(kind, predicate, f"{called} '{name}'", OF_PREDICATES[called])


def _check_methods(kind: type[ProtocolMachine]) -> None:
    for name in NEEDED:
        if getattr(kind, name) is getattr(ProtocolMachine, name):
            raise missing_method(kind, name)
    if kind.symmetric and kind.renamed is ProtocolMachine.renamed:
        raise missing_method(kind, "renamed")
    for name, arguments in ARGUMENTS.items():
        method = getattr(kind, name)
        if not callable(method):
            raise _wrong(kind, name, "is not a method", f"write {name}({', '.join(('self', *arguments))})")
        if method is getattr(ProtocolMachine, name):
            continue
        is_bound = isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod)
        _check_call(kind, method, name, arguments if is_bound else ("self", *arguments))


def _check_spelling(kind: type[ProtocolMachine]) -> None:
    """Raises `WrongMachine` if a name of the class is nearly one that protocols have: then nothing reads it."""
    known = {name for name in (*dir(ProtocolMachine), *ProtocolMachine.__annotations__) if not name.startswith("_")}
    for name in vars(kind):
        if name.startswith("_") or name in known:
            continue
        for meant in difflib.get_close_matches(name, known, 1, NEARLY):
            if name.removeprefix(meant) not in INFLECTIONS:
                raise WrongMachine(
                    f"{kind.__name__}.{name} is read by nothing",
                    hint=f"did you mean '{meant}'? A helper of such a name begins with an underscore",
                )


def _check_call(
    kind: type, function: Callable[..., Any], name: str, arguments: tuple[str, ...], given: str = "", **named: str
) -> None:
    """Raises `WrongMachine` if the function does not take such arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of what is written in C nothing is known
        return
    try:
        signature.bind(*arguments, **named)
    except TypeError:
        called = f"{kind.__name__}.{name}" if name.isidentifier() else f"{name} of {kind.__name__}"
        needs = given or f"({', '.join(arguments)})"
        raise WrongMachine(f"{called} takes {_plain(signature)}, not {needs}", hint=f"have it take {needs}") from None


def _plain(signature: inspect.Signature) -> str:
    """The parameters without their types."""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
