"""The output of `crownless check` for one check: its runs, its scope, each property, and the verdict."""

from collections.abc import Collection
from dataclasses import replace

from rich.text import Text

from crownless.command_line.output import STYLES, print_line, print_run
from crownless.command_line.tables import Rows
from crownless.model_check.check.check_result import CheckResult, PropertyResult
from crownless.runtime.printable import listed, printable, some


def print_check(result: CheckResult, *, drawings: bool) -> None:
    """Prints one check; the verdict comes last."""
    if drawings:
        print_runs(result)
    rows = Rows("property", "kind", "verdict")
    for line in result.properties:
        never = line.property.name in result.never_exercised
        style = STYLES[line.verdict] if line.property.promised else ""
        verdict = Text("never exercised" if never and not result.ended_early else line.verdict, style=style)
        if not line.property.promised:
            verdict.append(", not promised", style="")
        in_a_line = (
            line.property.name in result.machine.invariants and line.run is not None
        )  # a local state is too long for a cell
        note = _note(replace(line, note="") if in_a_line else line)
        if note:
            verdict.append(printable(f" ({note})"), style="")
        rows.add_row(line.property.name, line.property.kind, verdict)
    print_line(f"{result.protocol}: {result.scope}")
    rows.print()
    found = result.exploration
    counts = f"{some(found.states, 'state')}, {some(found.transitions, 'transition')}, depth {found.depth}"
    before = f", {result.seconds_before:.1f} s of it before it was resumed" if result.seconds_before else ""
    print_line(f"{counts}, {result.seconds:.1f} s{before}")
    print_line(_coverage(result))
    _print_completion(result)
    for line in result.properties:
        if line.note and line.property.name in result.machine.invariants and line.run is not None:
            print_line(f"{line.property.name}: {line.note}")
    for hint in result.hints:
        print_line(f"hint: {hint}")
    print_line(conclusion(result, result.never_exercised))


def conclusion(result: CheckResult, never_exercised: Collection[str]) -> str:
    """The verdict in a sentence, which claims no more than the search has shown."""
    name = result.protocol
    within = "within the bound"
    unpromised = [line.property.name for line in result.properties if line.verdict == "violated"]
    if unpromised:
        within += f", as promised; not promised, and violated: {', '.join(unpromised)}"
    if result.violations:
        return f"{name} violates {listed(result.violations)}"
    stopped = result.exploration.stopped
    if result.verdict == "unknown":
        early = next((line.ended_early for line in result.properties if line.ended_early), None)
        why = stopped or early or "nothing is ever delivered"
        return f"{name}: unknown: {why}"
    if never_exercised:
        never = f"{some(len(never_exercised), 'rule')} never exercised: {', '.join(never_exercised)}"
        return f"{name} holds {within}, but {never}"
    return f"{name} holds {within}"


def print_runs(result: CheckResult) -> None:
    """Prints each run once, with all the properties that it violates."""
    for run, names in result.shown_runs():
        print_line(f"{result.protocol} violates {', '.join(names)}:")
        for name in names:
            print_line(f"  {result[name].property.meaning}")
        print_line()
        print_run(run, *names)
        print_line()


def _note(line: PropertyResult) -> str:
    length = f"shortest run: {some(len(line.run.actions), 'action')}" if line.run is not None else ""
    return "; ".join(part for part in (length, line.note) if part)


def _coverage(result: CheckResult) -> str:
    """The counts of enabled actions, and the rules of the protocol that were never exercised."""
    said = " · ".join(f"{name} {count:,}" for name, count in result.actions.items()) or "none"
    if result.never:
        said += f"; never{' so far' if result.exploration.stopped else ''}: {', '.join(result.never)}"
    return f"actions: {said}"


def _print_completion(result: CheckResult) -> None:
    """Prints whether a program terminates, and where it blocks."""
    if result.completes is None:
        return
    print_line(f"completes: {result.completes}")
    for waits in sorted(result.exploration.blocked):
        print_line(f"  blocks with {'; '.join(waits) or 'a send that never happens'}")
