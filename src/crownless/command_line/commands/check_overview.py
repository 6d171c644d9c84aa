"""The output of `crownless check` for several checks: a row each as soon as it is known, then one sentence."""

from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from crownless.command_line.output import STYLES, Progress, print_line
from crownless.command_line.tables import StreamedRows
from crownless.impl.workloads import Free, Program
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.check.suite import SuiteRow, as_expected
from crownless.model_check.system.properties import COMPLETES
from crownless.model_check.system.request import ResolvedCheck, rendered_setting
from crownless.runtime.printable import listed, printable_name, some

#: Widths for values not known in advance: "violates" with the longest property name, millions of states, and seconds.
VERDICT, STATES, SECONDS = 24, 7, 7
#: Maximum width of the column for what a check covers; longer text is folded.
CHECKED_OVER = 18


class Overview:
    """The table of several checks; of a suite each row has its expected verdict."""

    def __init__(self, checks: Sequence[ResolvedCheck], suite: Sequence[SuiteRow] | None) -> None:
        self._suite = suite
        self._results: list[CheckResult] = []
        widest = {
            "protocol": max(len(check.protocol) for check in checks),
            "checked over": min(CHECKED_OVER, max(len(where(check)) for check in checks)),
            "verdict": VERDICT,
            "states": STATES,
            "seconds": SECONDS,
        }
        self._rows = StreamedRows(widest, rest="verdict", right=("states", "seconds"))

    def print_headings(self, line: Progress) -> None:
        """The text before anything is known; the line of progress is hidden meanwhile."""
        with line.hidden():
            print_line("Every interleaving within the bound. A number is the length of a shortest run, in actions.")
            self._rows.print_headings()

    def print_row(self, result: CheckResult, line: Progress) -> None:
        """One more result."""
        verdict = Text(_verdict(result), style=STYLES[result.verdict])
        if self._suite is not None:
            verdict = _beside_expected(verdict, result, self._suite[len(self._results)])
        self._results.append(result)
        found = result.exploration
        cells = result.protocol, where(result.check), verdict, f"{found.states:,}", f"{result.seconds:.1f}"
        with line.hidden():
            self._rows.print_row(*cells)

    def print_conclusion(self) -> None:
        """The text at the end; the last line sums it up."""
        results = self._results
        for result in results:
            never = _never_exercised(result, results)
            if result.verdict == "holds" and never:
                print_line(f"{result.protocol}, {where(result.check)}: never exercised: {', '.join(never)}")
        for result in results:
            if result.exploration.stopped:
                print_line(f"{result.protocol}: search ended early: {result.exploration.stopped}")
        print_line(_engines(results))
        print_line(self._sum())

    def _sum(self) -> str:
        counts = Counter(result.verdict for result in self._results)
        parts = [f"{counts['holds']} hold{'s' * (counts['holds'] == 1)}"]
        never = sum(one.verdict == "holds" and bool(_never_exercised(one, self._results)) for one in self._results)
        parts[0] += f" ({never} with rules never exercised)" * bool(never)
        parts += [f"{counts['violated']} violated"] * bool(counts["violated"])
        parts += [f"{counts['unknown']} unknown"] * bool(counts["unknown"])
        said = f"{some(len(self._results), 'check')}: {', '.join(parts)}"
        if self._suite is None:
            return said
        if as_expected(self._suite, self._results):
            return f"{said}, all as expected"
        each = list(zip(self._suite, self._results, strict=False))
        unlike = [_named(result, self._results) for row, result in each if row.as_expected(result) is False]
        unsure = [_named(result, self._results) for row, result in each if row.as_expected(result) is None]
        said += f"; not as expected: {'; '.join(unlike)}" * bool(unlike)
        return said + f"; not known to be as expected: {'; '.join(unsure)}" * bool(unsure)


def _named(result: CheckResult, results: Sequence[CheckResult]) -> str:
    """The name of the protocol, with the scope if it was checked more than once."""
    often = sum(one.protocol == result.protocol for one in results)
    return f"{result.protocol} ({where(result.check)})" if often > 1 else result.protocol


def _verdict(result: CheckResult) -> str:
    if not result.violations:
        return result.verdict
    lengths = result.exploration.violated
    said = []
    for name, line in result.violations.items():
        shown = name
        if name == COMPLETES.name and result.completes is not None:
            shown += f" ({result.completes})"
        length = len(line.run.actions) if line.run is not None else lengths.get(name)
        said.append(shown if length is None else f"{shown} {length}")
    return f"violates {', '.join(said)}"


def _beside_expected(verdict: Text, result: CheckResult, row: SuiteRow) -> Text:
    """The verdict, with the expectation where it is not obvious."""
    as_expected = row.as_expected(result)
    if as_expected:
        return verdict.append(", as expected", style="") if row.breaks else verdict
    expected = f"to violate {listed(sorted(row.breaks))}" if row.breaks else "to hold"
    return verdict.append(f"; expected {expected}", style="bold" if as_expected is False else "")


def _never_exercised(result: CheckResult, results: Sequence[CheckResult]) -> list[str]:
    """The rules exercised neither by this check nor by others here of the same protocol and channel."""
    beside = [one for one in results if (one.protocol, one.channel) == (result.protocol, result.channel)]
    return [name for name in result.never_exercised if not any(one.exercised.get(name) for one in beside)]


def _engines(results: Sequence[CheckResult]) -> str:
    """The engine that explored most checks, and the engines of the others."""
    (most, _), *others = Counter(str(result.engine) for result in results).most_common()
    return "; ".join([f"explored by: {most}", *(f"{some(count, 'row')}: {engine}" for engine, count in others)])


def where(check: ResolvedCheck) -> str:
    """Bound or program, channel and other unusual settings, in a few words."""
    workload = check.workload
    parts = [f"{len(workload.processes)}×{workload.messages}"]
    if isinstance(workload, Program):
        parts = [printable_name(workload.name)]
    elif isinstance(workload, Free):
        parts += [f"{workload.sends}s"] * (workload.sends != "unicast") + ["self-sends"] * workload.self_sends
    parts.append(check.channel_name)
    if check.machine.ordered_at is not None:
        parts.append(f"orders at {', '.join(workload.processes[i] for i in check.machine.ordered_at)}")
    parts += [f"{key}={rendered_setting(value)}" for key, value in check.machine.settings.items()]
    if check.crashes is not None:
        parts.append(f"{check.crashes} may crash")
    return ", ".join(parts)
