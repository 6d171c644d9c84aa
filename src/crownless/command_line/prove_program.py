"""`crownless prove --program`: all interleavings of one program, put to z3 as one formula."""

from __future__ import annotations

from rich.text import Text

from crownless.model_check.check.request import Check, load_program
from crownless.model_check.search.engines import why_not_applicable
from crownless.model_check.system.properties import Property
from crownless.proofs.programs.every_interleaving import EFFORT, ProgramVerdict, judge
from crownless.proofs.programs.symbolic_run import protocols_on_terms
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.spec.printable import some

from .endings import say
from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    STYLES,
    print_json,
    print_line,
    print_run,
    status,
)
from .tables import Rows

EXITS = {"holds": EXIT_HOLDS, "violated": EXIT_VIOLATED, "unknown": EXIT_UNKNOWN}


def prove_program(
    protocols: tuple[str, ...],
    program: str,
    channel: str | None,
    effort: int | None,
    limits: Limits,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Judges the program under each protocol, and prints what is found; without one: under all that admit it."""
    script = load_program(program)

    def check(protocol: str) -> Check:
        return Check(protocol, program=script, channel=channel)

    every = [check(protocol) for protocol in protocols_on_terms()]
    checks = [check(protocol) for protocol in protocols] or [one for one in every if why_not_applicable(one) is None]
    found: list[ProgramVerdict] = []
    with status(quiet or as_json) as line, stoppable(limits) as part:
        for one in checks:

            def report(known: Property, protocol: str = one.name) -> None:
                line.update(f"{protocol}: {known.name}")

            found.append(judge(one, effort or EFFORT, progress=report))
    if part.reason is not None and not found:
        raise Stopped(part.reason)
    if as_json:
        print_json({"programs": [judged.json() for judged in found]})
    else:
        _print(found)
    verdicts = {judged.verdict for judged in found}
    if part.reason is not None:
        verdicts.add("unknown")
        say(f"{part.reason}; not all requests are answered")
    return next((EXITS[worst] for worst in ("violated", "unknown") if worst in verdicts), EXIT_HOLDS)


def _print(judgements: list[ProgramVerdict]) -> None:
    rows = Rows("protocol", "property", "kind", "verdict", right=("seconds",))
    for judged in judgements:
        for found in judged.properties:
            if found.verdict == "violated" and found.run is not None:
                print_line(f"{judged.protocol} breaks {found.property.name}: {found.property.meaning}")
                print_line()
                print_run(found.run)
                print_line()
    for judged in judgements:
        name = judged.protocol
        for found in judged.properties:
            verdict = Text(found.verdict, style=STYLES[found.verdict])
            if found.run is not None and found.verdict == "violated":
                length = len(found.run.actions)
                shortest = "shortest run" if found.shortest else "by a run"
                verdict.append(f" ({shortest}: {some(length, 'action')})", style="")
            if found.note:
                verdict.append(f" ({found.note})", style="")
            rows.add_row(name, found.property.name, found.property.kind, verdict, f"{found.seconds:.1f}")
            name = ""
    for judged in judgements:
        print_line(f"{judged.protocol}: {judged.scope}")
    rows.print()
    for judged in judgements:
        print_line(f"{judged.protocol}: completes: {judged.completes}")
        if judged.not_asked:
            print_line(f"{judged.protocol}: not checked here: {', '.join(judged.not_asked)}")
    if any(found.gave_up for judged in judgements for found in judged.properties):
        print_line("where z3 gave up: raise --effort")
