"""A protocol as independent choices: a class that names, for some of its methods, the alternatives.

    class Mine(Protocol):
        knobs = {"merged": {"maximum": lambda self, own, got: ..., "overwritten": lambda self, own, got: got}}

A knob is such a method; a combination takes one alternative for each. The first alternative of each knob is that of the
text, or of the author. Any combination is a protocol class like any other.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from itertools import product
from math import prod
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from crownless.impl import own_protocols
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import protocol_named, qualified_name_of
from crownless.impl.variant import variant
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import printable_name

#: The bundled protocols that are taken apart: name → file in this folder, and class.
TAKEN_APART = {
    "rst": "knobs_of_rst.RstByKnobs",
    "rst-queue": "knobs_of_rst_queue.RstQueueByKnobs",
    "ses": "knobs_of_ses.SesByKnobs",
    "buffer": "knobs_of_buffer.BufferByKnobs",
    "murty-garg": "knobs_of_murty_garg.MurtyGargByKnobs",
}


@dataclass(frozen=True)
class Knob:
    """A method of a protocol, and its alternatives by name."""

    method: str
    alternatives: Mapping[str, Callable[..., Any]]

    @property
    def name(self) -> str:
        """As printed."""
        return self.method.replace("_", " ")


@dataclass(frozen=True)
class Combination:
    """One alternative for each knob of a protocol, by its place among the alternatives."""

    of: type[ProtocolMachine]
    knobs: tuple[Knob, ...]
    places: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<{self.of.__name__}: {self.name}>"

    @property
    def choices(self) -> dict[str, str]:
        """The name of the alternative taken, by the name of the knob."""
        return {knob.name: list(knob.alternatives)[place] for knob, place in zip(self.knobs, self.places, strict=True)}

    @property
    def name(self) -> str:
        """The alternatives that are not the first, or `as published`."""
        chosen = zip(self.choices.items(), self.places, strict=True)
        return ", ".join(f"{knob}: {taken}" for (knob, taken), place in chosen if place) or AS_PUBLISHED

    @cached_property
    def protocol(self) -> type[ProtocolMachine]:
        """Its class."""
        chosen = zip(self.knobs, self.places, strict=True)
        methods = {knob.method: list(knob.alternatives.values())[place] for knob, place in chosen}
        made = variant(self.of, self.of.__name__, **methods)
        _made[made] = self.of, self.places
        return made


AS_PUBLISHED = "as published"
#: The classes of combinations: the class with the knobs, and the places of the alternatives.
_made: WeakKeyDictionary[type[ProtocolMachine], tuple[type[ProtocolMachine], tuple[int, ...]]] = WeakKeyDictionary()


def combination_of(kind: type[ProtocolMachine]) -> Combination | None:
    """The combination whose class this is; None if it is not made from knobs."""
    if kind not in _made:
        return None
    of, places = _made[kind]
    return Combination(of, knobs_of(of), places)


def combination_named(kind: type[ProtocolMachine], name: str) -> Combination:
    """The combination with these alternatives, such as `guard: nothing, merged: maximum`, the others as published;
    raises `BadInput` for one that there is not.
    """
    knobs, left = knobs_of(kind), name.strip()
    places, turned = [0] * len(knobs), set[int]()
    while left and left != AS_PUBLISHED:
        said, _, left = (part.strip() for part in left.partition(":"))
        k = next((k for k, knob in enumerate(knobs) if said in (knob.name, knob.method)), None)
        if k is None:
            raise unknown_name("knob", said, [knob.name for knob in knobs])
        alternatives = list(knobs[k].alternatives)
        begun = [each for each in alternatives if f"{left},".startswith(f"{each},")]
        if not begun:
            raise unknown_name(f"alternative of {knobs[k].name}", left, alternatives)
        taken = max(begun, key=len)
        if k in turned:
            raise BadInput(f"the knob {knobs[k].name} is turned twice", hint="name one alternative of each")
        turned.add(k)
        places[k] = alternatives.index(taken)
        left = left.removeprefix(taken).lstrip(", ")
    return Combination(kind, knobs, tuple(places))


@cache
def protocol_in_brackets(name: str) -> type[ProtocolMachine]:
    """The class of one combination: `rst[guard: nothing]`, or `FILE.py:Class[guard: nothing]`."""
    whole, bracket, chosen = name.partition("[")
    if not bracket or not chosen.endswith("]"):
        raise BadInput(f"{printable_name(name)} has one bracket", hint="write it as in 'rst[guard: nothing]'")
    chosen = chosen.removesuffix("]")
    of = combination_named(class_with_knobs(whole), chosen)
    own_protocols.call(of.protocol, f"{whole}[{of.name}]")
    return of.protocol


def class_with_knobs(name: str) -> type[ProtocolMachine]:
    """The class with the knobs of a bundled protocol, or one's own class, `FILE.py:Class`."""
    if name in TAKEN_APART:
        module, _, class_name = TAKEN_APART[name].partition(".")
        kind: type[ProtocolMachine] = getattr(import_module(f"{__package__}.{module}"), class_name)
        return kind
    if name.endswith("]"):
        hint = "crownless check and the other commands take it; knobs --show decides it"
        raise BadInput(f"{printable_name(name)} is a single combination and has no map", hint=hint)
    return protocol_named(name)


def knobs_of(kind: type[ProtocolMachine]) -> tuple[Knob, ...]:
    """The knobs of a class; raises `BadInput` where they are not as this file says."""
    name = qualified_name_of(kind)
    if not isinstance(kind.knobs, Mapping) or not kind.knobs:
        hint = f"taken apart are {', '.join(TAKEN_APART)}; a class declares knobs = {{method: {{name: function, …}}}}"
        raise BadInput(f"{name} has no knobs", hint=hint)
    return tuple(_knob(kind, name, method, alternatives) for method, alternatives in kind.knobs.items())


def _knob(kind: type[ProtocolMachine], protocol: str, method: Any, alternatives: Any) -> Knob:
    knob = f"{protocol}: the knob {printable_name(str(method))}"
    if not isinstance(method, str) or not isinstance(getattr(kind, method, None), FunctionType):
        raise BadInput(f"{knob} is not a method of the class", hint="a knob is named after the method that it replaces")
    if not isinstance(alternatives, Mapping) or not all(isinstance(each, str) for each in alternatives):
        raise BadInput(f"{knob} has no alternatives by name", hint="write {name: function, another: function}")
    odd = [
        name for name in alternatives if name in ("", AS_PUBLISHED) or name != name.strip() or not name.isprintable()
    ]
    if odd:
        hint = f"a name is one line without spaces around it, and not empty or '{AS_PUBLISHED}'"
        raise BadInput(f"{knob} has the alternative {odd[0]!r}", hint=hint)
    if len(alternatives) < 2:
        raise BadInput(
            f"{knob} has {'one alternative' if alternatives else 'no alternatives'}", hint="name two or more"
        )
    wanted = _arguments(getattr(kind, method))
    for name, alternative in alternatives.items():
        if not isinstance(alternative, FunctionType):
            problem = f"{knob}: {printable_name(name)} is {type(alternative).__name__}, not a function"
            raise BadInput(problem, hint=f"write def or lambda {', '.join(wanted)}: …")
        if len(_arguments(alternative)) != len(wanted):
            problem = f"{knob}: {printable_name(name)} takes ({', '.join(_arguments(alternative))})"
            raise BadInput(problem, hint=f"the method takes ({', '.join(wanted)})")
    return Knob(method, dict(alternatives))


def _arguments(function: Callable[..., Any]) -> list[str]:
    """The names of its arguments without a default."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is inspect.Parameter.empty]


def size(knobs: tuple[Knob, ...]) -> int:
    """The number of combinations."""
    return prod(len(knob.alternatives) for knob in knobs)


def combinations(kind: type[ProtocolMachine]) -> Iterator[Combination]:
    """Every combination: the published one first, then those with fewer changes before those with more."""
    knobs = knobs_of(kind)
    every = product(*(range(len(knob.alternatives)) for knob in knobs))
    for places in sorted(every, key=lambda places: (sum(map(bool, places)), places)):
        yield Combination(kind, knobs, places)
