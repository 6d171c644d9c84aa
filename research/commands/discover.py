"""`crownless prove --discover`: invariants found from the protocol alone."""

from collections.abc import Sequence
from functools import partial

from crownless.command_line.commands.prove import Requests
from crownless.command_line.output import print_drawing, print_line
from crownless.proofs.language.proof_request import EFFORT
from crownless.research.discovery.discovery import Discovered, discover
from crownless.runtime.errors import BadInput


def discoveries(protocols: tuple[str, ...], effort: int | None) -> Requests:
    """The requests to discover invariants of each protocol."""
    if not protocols:
        raise BadInput("--discover needs a protocol, since it is slow", hint="name a PROTOCOL, such as rst")
    answers = {name: partial(discover, name, effort or EFFORT) for name in protocols}
    return Requests("discoveries", answers, _print_discovered)


def _print_discovered(found: Sequence[Discovered]) -> None:
    for each in found:
        for line in each.lines():
            print_drawing(line)
        if each.safe == "refuted":
            print_line(f"crownless check {each.protocol} shows a run")
        print_line(f"{each.seconds:.1f} seconds")
    proved = [each for each in found if each.safe == "proved"]
    for assumed in dict.fromkeys(tuple(each.assumed) for each in proved):
        names = ", ".join(each.protocol for each in proved if tuple(each.assumed) == assumed)
        print_line(f"Found by --discover for {names}; valid for any number of processes and messages. Assumed:")
        for assumption in assumed:
            print_line(f"- {assumption}")
