"""The page of costs: plots, answers and tables of the studies, as self-contained files.

    python benchmarks/cost_page.py docs/cost

writes `index.html`, the plots it shows (PNG, each with an SVG), and `figures.csv`, every figure with its error.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite
from pathlib import Path

import click
from cost_page_findings import findings
from cost_page_plots import draw
from cost_page_studies import SEEDS, STUDIES, of_the_page

from crownless.model_check.simulation.encoding import HEADER, WORD
from crownless.model_check.simulation.experiment_rows import Row
from crownless.model_check.simulation.figures import AVERAGED, FIELDS_BUT_SEED, GROWTH, Point, chosen, points
from crownless.model_check.simulation.latencies import LATENCIES
from crownless.model_check.simulation.simulation import COOL_DOWN, WARM_UP
from crownless.model_check.simulation.traffic import TRAFFIC
from crownless.pipeline.costs import sweep

#: Plot → the claim whose answer it illustrates.
BESIDE = {
    "delay": "MF24", "traffic": "MF24", "bandwidth": "MF24", "control": "MG19", "withheld": "MG20",
    "synchronous": "MG21", "thresholds": "SA13",
}  # fmt: skip

#: Plot → a note beyond its title and axes.
NOTES = {
    "delay": "Both axes are logarithmic. At constant latencies the matrix protocol (rst) adds nothing and has no line.",
    "traffic": "The matrix protocol (rst) adds nothing for client and server and has no line there.",
    "bandwidth": "Open marks: the lines cannot carry all submitted messages, and the delay grows with the run.",
    "control": "Always 1 for a message to a smaller process, and 2 for one to a bigger one.",
    "withheld": "The mean over the runs of the longest in each run; the longest in all runs stands above.",
    "synchronous": "Open marks: the delay grows with the run, since the biggest process cannot keep up.",
    "thresholds": "Left: extra messages alone. Right: dashed and dotted lines are protocols without a threshold.",
    "sizes": "Both axes are logarithmic; rst and ses take nearly the same.",
}

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 12.5px; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
figure { margin: 1.5rem 0; }
figcaption, .note { font-size: 13px; color: #555; }
code { background: #f3f3f3; padding: 0 .25rem; }
"""


def write_page(folder: Path, rows: Sequence[Row], seeds: int = SEEDS) -> None:
    """Writes the page of the rows for `of_the_page(seeds)`, in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    studies = in_studies(rows, seeds)
    of = {name: points(some) for name, some in studies.items()}
    titles = draw(folder, of)
    write_csv((point for some in of.values() for point in some), folder / "figures.csv")
    (folder / "index.html").write_text(_page(studies, of, titles, seeds), "utf-8")


def in_studies(rows: Sequence[Row], seeds: int) -> dict[str, Sequence[Row]]:
    """The rows by study."""
    studies: dict[str, Sequence[Row]] = {}
    start = 0
    for name, study in STUDIES.items():
        count = sum(1 for _ in study(seeds))
        studies[name] = rows[start : start + count]
        start += count
    assert start == len(rows), "the rows are those of all studies"
    return studies


def _page(
    studies: Mapping[str, Sequence[Row]], of: Mapping[str, Sequence[Point]], titles: Mapping[str, str], seeds: int
) -> str:
    total = sum(len(rows) for rows in studies.values())
    broken = sum(point.broken for some in of.values() for point in some)
    command = f"python benchmarks/cost_page.py docs/cost --engine spark --seeds {seeds}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8"><title>What the protocols cost</title>',
        f"<style>{STYLE}</style></head><body>",
        "<h1>What the protocols cost</h1>",
        f"<p>The machines of <code>impl/</code>, run under a clock: {total:,} simulations. Made by</p>",
        f"<pre><code>{escape(command)}</code></pre>",
        "<p>Times are in mean latencies of the channel; the <em>load</em> is how many messages a process that sends "
        "submits in one mean latency (of clients that wait for answers: while they think). Each figure is a mean "
        "over independent runs with its 95% confidence interval (Student). Of each run the first "
        f"{WARM_UP:.0%} and last {COOL_DOWN:.0%} of the messages are not measured; a packet counts with the message "
        "that it carries or acknowledges, or that made a process transmit it. A packet has a "
        f"header of {HEADER} bytes, and each number that a protocol attaches takes {WORD} bytes (or a varint). "
        + (
            "Every run kept the order that its protocol promises.</p>"
            if not broken
            else f"<strong>{broken} runs broke the order that their protocol promises.</strong></p>"
        ),
        _unsteady(of),
        *_answers(studies, titles),
        "<h2>Sizes</h2>",
        _figure("sizes", titles["sizes"]),
        *_tables(of["workloads"]),
        "<h2>Kinds of traffic and of latency</h2>",
        _list((name, each.meaning) for name, each in TRAFFIC.items()),
        _list((name, each.meaning) for name, each in LATENCIES.items()),
        '<p class="note">All figures: <a href="figures.csv">figures.csv</a>.</p>',
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _unsteady(of: Mapping[str, Sequence[Point]]) -> str:
    """A paragraph on the experiments whose means depend on the length of the run."""
    every = [point for some in of.values() for point in some]
    growing, stuck = sum(point.growing for point in every), sum(point.stuck > 0 for point in every)
    return (
        f"<p>In {growing} of {len(every):,} experiments the later half of the messages was surely delayed longer than "
        f"the earlier, by more than {GROWTH:g} mean latency: they demand as much as the protocol can do, or more. "
        "There the delay depends on how long the run is; it is drawn as an open mark, and marked as growing. "
        f"In {stuck} experiments some run got stuck; their figures are left out.</p>"
    )


def _answers(studies: Mapping[str, Sequence[Row]], titles: Mapping[str, str]) -> Iterable[str]:
    shown: set[str] = set()
    for finding in findings(studies):
        yield f"<h2>{finding.claim}: {escape(finding.question)}</h2>"
        yield from (f"<p>{escape(sentence)}</p>" for sentence in finding.answer)
        if finding.claim not in shown:
            yield from (_figure(name, titles[name]) for name, claim in BESIDE.items() if claim == finding.claim)
        shown.add(finding.claim)


def _figure(name: str, title: str) -> str:
    return (
        f'<figure><a href="{name}.svg"><img src="{name}.png" alt="{escape(title, quote=True)}"></a>'
        f"<figcaption>{escape(NOTES[name])}</figcaption></figure>"
    )


def _list(pairs: Iterable[tuple[str, str]]) -> str:
    return (
        "<ul>"
        + "".join(f"<li><strong>{escape(name)}</strong>: {escape(meaning)}</li>" for name, meaning in pairs)
        + "</ul>"
    )


def _tables(some: Sequence[Point]) -> Iterable[str]:
    load = some[0]["load"]
    for title, name, fixed in (
        ("Delay added, by traffic", "workload", {"latency": "exponential"}),
        ("Delay added, by latency", "latency", {"workload": "uniform"}),
    ):
        yield f"<h2>{title}</h2>"
        settings = ", ".join(f"{what} {value}" for what, value in fixed.items())
        yield f'<p class="note">{some[0]["processes"]} processes, load {load:g}, {settings}; mean latencies.</p>'
        yield _table(chosen(some, **fixed), name, "added")
    yield "<h2>Bytes added and control messages, by traffic</h2>"
    yield _table(chosen(some, latency="exponential"), "workload", "bytes")
    yield _table(chosen(some, latency="exponential"), "workload", "control")


def _table(some: Sequence[Point], across: str, figure: str) -> str:
    columns = list(dict.fromkeys(point[across] for point in some))
    rows = ["<tr>" + "".join(f"<th>{escape(each)}</th>" for each in ["protocol", *columns]) + "</tr>"]
    for protocol in dict.fromkeys(point["protocol"] for point in some):
        cells = [f"<td>{escape(protocol)}</td>"]
        for column in columns:
            found = chosen(some, **{"protocol": protocol, across: column})
            cells.append(f"<td>{escape(_cell(found, figure))}</td>")
        rows.append("<tr>" + "".join(cells) + "</tr>")
    return '<div class="wide"><table>' + "\n".join(rows) + "</table></div>"


def _cell(found: Sequence[Point], figure: str) -> str:
    if not found:
        return ""
    (point,) = found
    return point.said(figure) + (" and growing" if figure == "added" and point.growing else "")


def write_csv(some: Iterable[Point], file: Path) -> None:
    """A line an experiment: its settings, each figure, its error, and of how many runs it is the mean.

    Nothing stands where there is no figure, and where one run alone has no error.
    """
    columns = [column for name in AVERAGED for column in (name, f"{name}_error", f"{name}_values")]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*FIELDS_BUT_SEED, "repetitions", "stuck", "broken", "growing", *columns])
        for point in some:
            figures = [
                "" if number is None or not isfinite(number) else f"{number:.5g}"
                for name in AVERAGED
                for number in point.figures[name] or (None, None, 0)
            ]
            settings = [point.settings[name] for name in FIELDS_BUT_SEED]
            writer.writerow([*settings, point.repetitions, point.stuck, point.broken, int(point.growing), *figures])


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seeds", default=SEEDS, show_default=True, help="How often each experiment is repeated.")
@click.option("--engine", type=click.Choice(["plain", "spark"]), default="plain", show_default=True)
@click.option("--kept", type=click.Path(path_type=Path), help="A folder for the simulations, to resume from.")
def main(folder: Path, seeds: int, engine: str, kept: Path | None) -> None:
    """Run all studies, and write the page into the FOLDER."""
    write_page(folder, sweep(of_the_page(seeds), engine=engine, out=kept), seeds)


if __name__ == "__main__":
    main()
