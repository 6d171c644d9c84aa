"""`crownless prove --discover`: invariants discovered automatically, for every n."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.proofs.discovery.discovery import Discovered, discover
from crownless.proofs.discovery.houdini import STEPS
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.spec.errors import BadInput

from .endings import say
from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    print_drawing,
    print_json,
    print_line,
    status,
)

EXITS = {"proved": EXIT_HOLDS, "refuted": EXIT_VIOLATED, "unknown": EXIT_UNKNOWN}


def prove_discovered(
    protocols: Sequence[str], effort: int | None, limits: Limits, *, as_json: bool, quiet: bool
) -> int:
    """Looks for invariants of each protocol, and prints what is found."""
    if not protocols:
        raise BadInput("--discover takes a while", hint="name a PROTOCOL, such as rst")
    found: list[Discovered] = []
    with status(quiet or as_json) as line, stoppable(limits) as part:

        def report(what: str) -> None:
            line.update(what)

        for name in protocols:
            found.append(discover(name, effort or STEPS, report))
    if part.reason is not None and not found:
        raise Stopped(part.reason)
    if as_json:
        print_json({"discoveries": [each.json() for each in found]})
    else:
        _print(found)
    outcomes = {each.safe for each in found}
    if part.reason is not None:
        outcomes.add("unknown")
        say(f"{part.reason}; not all requests are answered")
    return next((EXITS[worst] for worst in ("refuted", "unknown") if worst in outcomes), EXIT_HOLDS)


def _print(found: Sequence[Discovered]) -> None:
    for each in found:
        for line in each.lines():
            print_drawing(line)
        if each.safe == "refuted":
            print_line(f"crownless check {each.protocol} shows a run")
        print_line(f"{each.seconds:.1f} seconds")
    proved = [each for each in found if each.safe == "proved"]
    for assumed in dict.fromkeys(tuple(each.json()["assumptions"]) for each in proved):
        names = ", ".join(each.protocol for each in proved if tuple(each.json()["assumptions"]) == assumed)
        print_line(f"Found by --discover of {names}: for any number of processes and messages. Assumed:")
        for assumption in assumed:
            print_line(f"- {assumption}")
