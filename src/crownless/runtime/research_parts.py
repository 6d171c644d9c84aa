"""The parts that `crownless.research` adds to the core, by name.

The core imports nothing from it: what is named here is imported when it is used. Without the package the core is whole,
and these commands, options and names are unknown.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from .errors import BadInput

PACKAGE = "crownless.research"


class Entry(NamedTuple):
    """A command by module and function, with its summary: the list of commands imports none of them."""

    module: str
    name: str
    does: str


class Flag(NamedTuple):
    """An option of a command of the core: its help, and the function that answers requests made with it."""

    name: str
    help: str
    answers: str


_COMMANDS = {
    "claims": Entry(f"{PACKAGE}.commands.claims", "claims", "Recompute the verdict of every claim of the papers."),
    "cost": Entry(f"{PACKAGE}.commands.cost", "cost", "Simulate protocols under a clock: bytes, messages, delays."),
    "knobs": Entry(f"{PACKAGE}.commands.knobs", "knobs", "Map the design space of a protocol's choices."),
}
_FLAGS = {
    "prove": (
        Flag(
            "discover",
            "Discover the invariants automatically, from the protocol alone.",
            "commands.discover:discoveries",
        ),
    ),
}
#: The sections that `crownless list` has of it: a function for the facts of each. The last two are long.
_SECTIONS = {
    "counterexamples": "claims.bundled:facts",
    "claims": "claims.ledger:claim_facts",
    "errors": "claims.ledger:errata",
}
#: The names that the Python package has of it, by module.
_NAMES = {".research.api": "knobs"}
#: The protocol of a name with brackets, such as `rst[guard: nothing]`.
_IN_BRACKETS = "knobs.combinations:protocol_in_brackets"


def is_installed() -> bool:
    """False where the package was taken away."""
    return find_spec(PACKAGE) is not None


def commands() -> dict[str, Entry]:
    """The commands by name."""
    return _COMMANDS if is_installed() else {}


def flags(command: str) -> tuple[Flag, ...]:
    """The options that a command of the core has from it."""
    return _FLAGS.get(command, ()) if is_installed() else ()


def names() -> dict[str, str]:
    """The names that the Python package has from it, by module."""
    return _NAMES if is_installed() else {}


def sections() -> tuple[str, ...]:
    """The sections that `crownless list` has from it."""
    return tuple(_SECTIONS) if is_installed() else ()


def section(name: str, *given: Any) -> list[dict[str, Any]]:
    """The rows of a section."""
    return list(part(_SECTIONS[name])(*given))


def counterexamples() -> Path:
    """The folder of the bundled counterexamples, which need not exist."""
    found = find_spec(PACKAGE)
    (folder,) = (found and found.submodule_search_locations) or ("",)
    return Path(folder) / "counterexamples"


def protocol_in_brackets(name: str) -> Any:
    """The protocol class of that name."""
    return part(_IN_BRACKETS)(name)


def part(place: str) -> Any:
    """The object at `module:name` of the package; raises `BadInput` where there is no such package."""
    if not is_installed():
        raise BadInput(f"this needs {PACKAGE}, which is not installed", hint="install all of crownless")
    module, _, name = place.partition(":")
    return getattr(import_module(f"{PACKAGE}.{module}"), name)
