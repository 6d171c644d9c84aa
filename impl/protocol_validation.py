"""Validation of a protocol class on entry: its facts, parameters and predicates, and its methods' names."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import shown, shown_error
from crownless.spec.enumeration import SENDS
from crownless.spec.orders import ORDERS

from .channels import CHANNELS
from .protocol import PROMISES, Parameter, ProtocolMachine, WrongAnswer
from .user_frames import place_of_error

#: Facts that are names: the kind of thing named, and the existing names.
NAMES: Mapping[str, tuple[str, Iterable[str]]] = {
    "promises": ("an order", ORDERS),
    "needs_channel": ("a channel", CHANNELS),
    "sends": ("a kind of sends", SENDS),
}
#: The required methods of a protocol, with their arguments and return values.
NEEDED = {
    "initial": "initial(self, i), which returns the local state at the start",
    "send": "send(self, i, state, message), which returns a list of steps",
    "on_packet": "on_packet(self, i, state, packet), which returns a list of steps",
}
RENAMED = "renamed(self, state, renaming), which renames the processes in a local state, or leave out symmetric"
METHODS = ("initial", "send", "deliverable", "on_packet", "receive", "internal", "agree", "renamed", "renamed_stamp")
#: Minimum similarity for a name to count as misspelt, unless it is an inflection such as `received`.
NEARLY = 0.85
INFLECTIONS = ("d", "ed", "s", "r")
A_PARAMETER = 'such as {"k": Parameter("how many may wait", lambda n: n, 1, "at least one must")}'


class WrongMachine(BadInput):
    """The code of a protocol's class is wrong: no search can go on with it."""


class Fact(NamedTuple):
    """A fact that a class declares: what its value must be, and the message if it is not."""

    #: As `isinstance` takes it.
    kind: Any
    problem: str
    hint: str
    #: The kind of all that it contains.
    of: Any = None


A_DICTIONARY = "is not a dictionary by name"
FACTS = {
    **{
        fact: Fact(bool, "is neither True nor False", f"{fact} = True, or leave it out")
        for fact in ("admits_self_sends", "admits_multicast", "rolls_back", "symmetric", "sends_before_delivery")
    },
    "bound": Fact(
        (tuple, list), "is not two positive numbers, of processes and messages", "such as bound = (3, 4)", of=int
    ),
    "source": Fact(str, "is not a string", 'say where the protocol is described: "[MF] §2"'),
    "constants": Fact(tuple, "is not a tuple of names", 'such as constants = ("capacity",)', of=str),
    "timers": Fact(tuple, "is not a tuple of names", 'such as timers = ("retransmit",)', of=str),
    "control_kinds": Fact(frozenset, "is not a frozenset of names", 'such as frozenset({"request"})', of=str),
    **{method: Fact(Callable, "is not a method", f"write a function: def {method}(self, …)") for method in METHODS},
}
A_PREDICATE = 'such as {} = {{"its-name": lambda {}: …}}'
#: Facts that are dictionaries by name: the requirement on their values.
DICTIONARIES = {
    "parameters": Fact(Parameter, "is not a Parameter", A_PARAMETER),
    **{
        fact: Fact(Callable, "is not a function", A_PREDICATE.format(fact, arguments))
        for fact, arguments in {
            "invariants": "machine, i, state",
            "witnesses": "machine, i, state",
            "rules": "machine, transition",
        }.items()
    },
}


def check_promises(kind: type) -> None:
    """Raises `WrongMachine` if the tuple `promises` of a class of protocols, or nodes, names no property."""
    unknown = [name for name in getattr(kind, "promises", ()) if name not in PROMISES]
    if unknown or not getattr(kind, "promises", ()):
        raise _is_no("something to promise", kind, "promises", unknown[0] if unknown else (), PROMISES)


def _is_no(thing: str, kind: type, fact: str, name: Any, known: Iterable[str]) -> WrongMachine:
    """The error for a fact of a class that is not one of the known names of such things."""
    hint = unknown_name(fact, name, known).hint if isinstance(name, str) else f"known: {', '.join(known)}"
    return WrongMachine(f"{kind.__name__}.{fact} = {shown(name)} is not {thing}", hint=hint)


def check_class(kind: Any) -> None:
    """Raises `WrongMachine` if this is not a protocol class, or declares something impossible."""
    if not (isinstance(kind, type) and issubclass(kind, ProtocolMachine)):
        name = getattr(kind, "__name__", shown(kind))
        raise WrongMachine(f"{name} is not a protocol", hint="derive its class from crownless.Protocol")
    for fact, (thing, known) in NAMES.items():
        name = getattr(kind, fact, None)
        if name is None:
            raise WrongMachine(f"{kind.__name__} does not say what it {fact}", hint=f'{fact} = "causal", or another')
        if fact == "promises" and isinstance(name, tuple):
            check_promises(kind)
        elif name not in [*known]:
            raise _is_no(thing, kind, fact, name, known)
    for fact, (wanted, problem, hint, of) in FACTS.items():
        value = getattr(kind, fact)
        if not isinstance(value, wanted) or (of is not None and not all(isinstance(part, of) for part in value)):
            raise WrongMachine(f"{kind.__name__}.{fact} = {shown(value)} {problem}", hint=hint)
    if len(kind.bound) != 2 or bool in map(type, kind.bound) or min(kind.bound) < 1:
        _, problem, hint, _ = FACTS["bound"]
        raise WrongMachine(f"{kind.__name__}.bound = {shown(kind.bound)} {problem}", hint=hint)
    for fact, (wanted, problem, hint, _) in DICTIONARIES.items():
        entries = getattr(kind, fact)
        if not isinstance(entries, Mapping) or not all(isinstance(name, str) for name in entries):
            raise WrongMachine(f"{kind.__name__}.{fact} = {shown(entries)} {A_DICTIONARY}", hint=hint)
        for name, entry in entries.items():
            if not isinstance(entry, wanted):
                raise WrongMachine(f"{kind.__name__}.{fact}['{name}'] = {shown(entry)} {problem}", hint=hint)
    needed = {**NEEDED, "renamed": RENAMED} if kind.symmetric else NEEDED
    for name, signature in needed.items():
        if getattr(kind, name) is getattr(ProtocolMachine, name):
            raise WrongMachine(f"{kind.__name__} has no method {name}", hint=f"write {signature}")
    # A name that is almost one that protocols have would never be read.
    known_names = {name for name in (*dir(ProtocolMachine), *ProtocolMachine.__annotations__) if name[0] != "_"}
    for name in vars(kind):
        if name.startswith("_") or name in known_names:
            continue
        for meant in difflib.get_close_matches(name, known_names, 1, NEARLY):
            if name.removeprefix(meant) not in INFLECTIONS:
                hint = f"did you mean '{meant}'? A helper of such a name begins with an underscore"
                raise WrongMachine(f"{kind.__name__}.{name} is not read by anything", hint=hint)


def wrong_answer(kind: type, error: WrongAnswer) -> WrongMachine:
    """The error for a protocol's method that returned a wrong kind of answer."""
    return WrongMachine(
        f"{kind.__name__}.{error.method} returns {shown(error.answer)}, not {error.noun}", hint=error.hint
    )


@contextmanager
def machine_errors(kind: type[ProtocolMachine], call: str = "") -> Iterator[None]:
    """Within it an exception from the class's own code is raised as `WrongMachine`: for code that calls a class without
    an input (`model_check.system.machine_calls` reports the input, too).
    """
    try:
        yield
    except BadInput:
        raise
    except WrongAnswer as error:
        raise wrong_answer(kind, error) from error
    except (Exception, SystemExit, GeneratorExit) as error:
        at = place_of_error(error)
        if isinstance(error, MemoryError) or (at is None and not call):
            raise
        where = "" if at is None else f" ({at})"
        raise WrongMachine(f"{call or kind.__name__} fails: {shown_error(error)}{where}", hint="correct it") from error
