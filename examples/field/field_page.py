"""The page of the field report, docs/field_report.md, and its pictures, from the rows and their last verdicts."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from field_rows import FIELD, LogRow, Row, Verdict, log_rows, rows, source

DOCS = FIELD.parents[1] / "docs"
PAGE = DOCS / "field_report.md"
PICTURES = DOCS / "field"
ORDERS = ("fifo", "causal", "mailbox", "one-n", "n-n", "synchronous", "total")

_BEGINNING = """\
# Field report: which order public implementations keep

Public implementations that promise an order of messages, each driven by [`crownless conform`](conformance.md) through
every schedule within a bound, and public collections of traces, classified by [`crownless classify`](event_logs.md). A
few violated rows say that random runs were made instead, or that a time limit ended the search: their runs are the
shortest that were found. A verdict is about the code that is named, at the commit that is named, driven as described,
over the channel and within the bound that are printed: *kept* means that no schedule within it violates the order, and
is no proof beyond it. The date of a larger search, with one process or one message more, is printed with it. Code that
runs tasks or threads is given one input at a time, when it is idle: races between its tasks are not tried. The
violation in each row's verdict was also reproduced on the bare code, without crownless.
[Concepts](concepts.md) has the orders. If a row is incorrect, or a later commit repairs it, please tell us: a row is a
folder of `examples/field/`.
"""
_AGAIN = """\
## Run a row again

```sh
python examples/field/field_report.py NAME
```

fetches the code of the row at its commit into `build/field/NAME`, runs its command, compares the verdict with that of
the row, and writes this page. Rows with a compiled adapter need three steps first:

1. Copy the adapter to the place in their code that the row names.
2. Build their code by its own instructions.
3. Put the program, or a script that starts it, at `build/field/NAME.node`.

`--larger` tries one process more, and one message more, each for up to ten minutes. Without a
name, all rows that can run here are run; the others stay as they were, with their dates. The exit code is 1 if a
verdict is not that of its row, and 3 if a row that was named cannot be run here.
"""


def write_page() -> None:
    """Write the page, and a picture of each violation."""
    PICTURES.mkdir(exist_ok=True)
    for row in rows():
        if row.violation and row.verdict:
            _draw(row.path / "schedule.json", PICTURES / f"{row.folder}.svg")
    for picture in FIELD.glob("logs/*/picture.svg"):
        shutil.copy(picture, PICTURES / f"{picture.parent.name}.svg")
    PAGE.write_text(page(rows(), log_rows()), "utf-8")


def page(implementations: Iterable[Row], collections: Iterable[LogRow]) -> str:
    """The page, as Markdown."""
    ran, logs = [row for row in implementations if row.verdict], list(collections)
    parts = [_BEGINNING, _summary(ran), _AGAIN, "## Implementations\n", *map(_section, ran)]
    if logs:
        parts += ["## Traces\n", _table_of_logs(logs), *map(_section_of_logs, logs)]
    return "\n".join(parts)


def _summary(ran: list[Row]) -> str:
    violating = [row for row in ran if row.violation]
    languages = sorted({row.language for row in ran})
    bugs = Counter(row.violation.bug for row in violating if row.violation)
    order = sum(row.violation.what in ORDERS for row in violating if row.violation)
    counts = (
        f"{len(ran) - len(violating)} keep within the bound what they promise, {len(violating)} do not:"
        f" {order} of these violate the order, {len(violating) - order} hold messages back for ever or lose them"
    )
    lines = [
        "## Summary\n",
        f"{len(ran)} implementations in {len(languages)} languages ({', '.join(languages)}): {counts}.\n",
        *_table("promised order | implementations | kept | violated", _by(ran, "order")),
        *_table("use | implementations | kept | violated", _by(ran, "use")),
        *_table("kind of bug | implementations", [(bug, str(times)) for bug, times in bugs.most_common()]),
        *_table("smallest bound with the violation | implementations", _by_bound(violating)),
        *_table(
            "implementation | language | promises | over channels | verdict | searched | date",
            [_line(row) for row in sorted(ran, key=lambda row: (row.violation is None, row.folder))],
        ),
    ]
    return "\n".join(lines)


def _line(row: Row) -> tuple[str, ...]:
    assert row.verdict
    verdict = f"**{row.violation.what} violated**" if row.violation else "kept"
    channel = "FIFO" if "--channel fifo" in row.options else "unordered"
    name = f"[{row.name}](#{row.folder})"
    return (name, row.language, row.order, channel, verdict, _bound(row), row.verdict["date"])


def _by(ran: list[Row], attribute: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for value in sorted({getattr(row, attribute) for row in ran}):
        these = [row for row in ran if getattr(row, attribute) == value]
        kept = sum(row.violation is None for row in these)
        found.append((value, str(len(these)), str(kept), str(len(these) - kept)))
    return found


def _by_bound(violating: list[Row]) -> list[tuple[str, str]]:
    bounds = Counter(tuple(row.verdict["smallest"]) for row in violating if row.verdict)
    return [(f"{_count(n, 'process')}, {_count(m, 'message')}", str(times)) for (n, m), times in sorted(bounds.items())]


def _table(heading: str, lines: Iterable[tuple[str, ...]]) -> list[str]:
    columns = heading.split(" | ")
    return [f"| {heading} |", "|" + "---|" * len(columns), *(f"| {' | '.join(line)} |" for line in lines), ""]


def _section(row: Row) -> str:
    assert row.verdict
    return "\n".join(_paragraphs(row, row.verdict))


def _paragraphs(row: Row, verdict: Verdict) -> Iterator[str]:
    yield f"### {row.folder}\n"
    yield f"[{row.name}]({row.repository}) ({row.language}; {row.use}): {row.what}, at commit `{row.commit[:12]}`.\n"
    yield f"* Promise: “{row.promise}” ({source(row, row.promise_at)}), asked as `--order {row.order}`."
    adapter = next(row.path.glob("[aA]dapter.*")).name
    yield f"* Driven: {row.drives}, by `{adapter}`."
    yield f"* Replaced: {row.replaced}"
    if row.built:
        yield f"* Compiled: {row.built}"
    yield f"* Command, in `examples/field/{row.folder}`: `{_command(row)}`"
    yield f"* Verdict of {verdict['date']}: {_said(row, verdict)}"
    if row.violation:
        wrong = row.violation
        yield f"* Cause: {source(row, wrong.at)}. {wrong.cause} ({wrong.bug})"
        yield f"* Repair: {wrong.fix} {'With it: ' + wrong.fixed + '.' if wrong.fixed else 'It was not tried.'}"
        yield f"* Without crownless: `{wrong.reproduce}` shows it: {wrong.shows}\n"
        yield f"![{row.name}: the shortest run found that violates {wrong.what}](field/{row.folder}.svg)"
    yield ""


def _said(row: Row, verdict: Verdict) -> str:
    states = f"; {verdict['states']:,} states" if verdict["states"] else ""  # none are counted in random runs
    scope = f"({verdict['scope']}{states})"
    kept = [name for name, said in verdict["orders"].items() if said == "kept"]
    if row.violation:
        n, m = verdict["smallest"]
        found = " found" if "--random" in row.options else ""
        smallest = f"The smallest bound{found} with it: {_count(n, 'process')} and {_count(m, 'message')}."
        return f"**violates {row.violation.what}** {scope}. {smallest}"
    larger = "; ".join(map(_larger, verdict["larger"]))
    return f"keeps {', '.join(kept) or 'asynchronous order'} {scope}. One more: {larger or 'not tried'}."


def _larger(more: Verdict) -> str:
    bound = f"{_count(more['processes'], 'process')} and {_count(more['messages'], 'message')}"
    return f"{bound}, {more['date']}: {_outcome(more)}"


def _outcome(more: Verdict) -> str:
    if more["verdict"] == "unknown":
        return f"not decided in {more['max_seconds']:g} s"
    if more["verdict"] == "violated":
        return "**violated**"
    free = " by free sends; with replies from inside deliveries not decided" if more.get("free_sends") else ""
    return f"kept{free} ({more['states']:,} states)"


def _command(row: Row) -> str:
    checkout = f"../../../build/field/{row.folder}"
    node = row.run.replace("{checkout}", checkout)
    if row.built:
        node = node.replace("./node", f"{checkout}.node")
    separator = "" if ".py:" in node else "-- "
    variable = f"CHECKOUT={checkout} " if ".py:" in node else ""
    options = f"{row.options} " if row.options else ""
    bound = f"-n {row.processes} -m {row.messages}"
    return f"{variable}crownless conform {bound} --order {row.order} {options}{separator}{node}"


def _bound(row: Row) -> str:
    return f"{_count(row.processes, 'process')}, {_count(row.messages, 'message')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('s') else 's'}"


def _table_of_logs(collections: list[LogRow]) -> str:
    lines = [(f"[{row.name}](#{row.folder})", row.what, row.verdict) for row in collections]
    return "\n".join(_table("collection | events | verdict", lines))


def _section_of_logs(row: LogRow) -> str:
    lines = [
        f"### {row.folder}\n",
        f"[{row.name}]({row.repository}), at commit `{row.commit[:12]}`: {row.what}\n",
        f"* Files: {', '.join(source(row, file) for file in row.files)}. {row.records}",
        f"* Command: `{row.command}`",
        f"* Verdict: {row.verdict}",
        f"* Unknown: {row.unknown}",
        f"* To know it: {row.needs}",
    ]
    if row.shown:
        lines += ["", "```text", row.shown.strip("\n"), "```"]
    if (FIELD / "logs" / row.folder / "picture.svg").exists():
        lines += ["", f"![{row.name}: the messages of the violation](field/{row.folder}.svg)"]
    return "\n".join([*lines, ""])


def _draw(schedule: Path, picture: Path) -> None:
    show = [sys.executable, "-m", "crownless", "show", str(schedule), "--svg", str(picture)]
    subprocess.run(show, check=True, stdout=subprocess.DEVNULL)
