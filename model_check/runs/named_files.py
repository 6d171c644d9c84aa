"""The file that a name denotes: a user's file, a bundled one, or standard input."""

from pathlib import Path

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name
from crownless.spec import library


def path_of(name: str) -> Path | None:
    """The file to read, of that name or bundled; None is standard input."""
    if name == "-":
        return None
    path = Path(name)
    if path.suffix == ".py":
        hint = f"check the protocol in it: crownless check {name} --json > runs.json; that can be shown"
        raise BadInput("a Python file is no computation, run or log", hint=hint, file=name)
    found = library.located(name)
    if found is not None and found.suffix == ".json" and name in library.counterexamples(".json"):
        hint = f"crownless show {name}"
        raise BadInput(f"{name} is a run of a protocol, not a computation alone", hint=hint)
    if found is None and "/" not in name and "." not in name:
        known = ", ".join(library.names())
        raise BadInput(
            f"no file and no bundled computation is called '{printable_name(name)}'",
            hint=f"bundled: {known}; counterexamples: crownless list counterexamples",
        )
    return found or path
