"""The plots and figures of the page of costs, docs/costs.md.

    python benchmarks/cost_page.py docs/cost

writes the plots, and `figures.csv`, every figure with its error.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from cost_page_studies import FEW_LOADS, LOADS, SEEDS, STUDIES, of_the_page

from crownless.research.costs.experiment import Row
from crownless.research.costs.figures import AVERAGED, FIELDS_BUT_SEED, Point, points
from crownless.research.costs.latencies import output_wait
from crownless.research.costs.sweeping import sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours that are distinguishable with any colour vision (Okabe and Ito), one for each protocol in all plots.
COLOURS = {
    "rst": "#0072B2", "buffer": "#D55E00", "buffer-pipelined": "#E69F00", "optimal": "#009E73", "unordered": "#999999",
    "murty-garg": "#CC79A7", "rendezvous": "#000000", "extra-messages": "#56B4E9", "ses": "#D81B60",
    "ses-delete": "#A97BB5", "fifo-sequence": "#999999", "cbcast": "#B8A200",
}  # fmt: skip
MARKERS = {
    "rst": "o", "buffer": "s", "buffer-pipelined": "^", "optimal": "D", "unordered": ".", "murty-garg": "v",
    "rendezvous": "X", "extra-messages": "P", "ses": "*", "fifo-sequence": "<", "cbcast": "h",
}  # fmt: skip
BY_SIZE = ("#56B4E9", "#0072B2", "#1B2A49")

Points = Mapping[str, Sequence[Point]]


def delay(figure: Figure, of: Points) -> None:
    panels = figure.subplots(1, 3, sharey=True)
    for panel, latency in zip(panels, ("constant", "exponential", "pareto"), strict=True):
        some = chosen(of["delay"], workload="uniform", latency=latency)
        for protocol in ("buffer", "buffer-pipelined", "rst"):
            line(panel, chosen(some, protocol=protocol), "load", "added", protocol)
        loads = [k / 200 for k in range(2, 98)]
        theory = [output_wait(load, latency) for load in loads]
        panel.plot(loads, theory, "--", color="#D55E00", linewidth=1, alpha=0.6, label="buffer, by theory")
        panel.set(xscale="log", yscale="log", title=f"{latency} latencies", xlabel="load: messages in a mean latency")
        panel.set_ylim(1e-3, 40)
        ticks = (LOADS[0], *FEW_LOADS, 0.4)
        panel.set_xticks(ticks, [f"{load:g}" for load in ticks], fontsize=7)
        panel.minorticks_off()
    panels[0].set_ylabel("delay added, mean latencies")
    panels[0].legend(fontsize=7)


def bandwidth(figure: Figure, of: Points) -> None:
    sizes = sorted({point["processes"] for point in of["bandwidth"]})
    panels = figure.subplots(1, len(sizes), sharey=True)
    for panel, n in zip(panels, sizes, strict=True):
        for protocol in ("rst", "optimal", "buffer", "unordered"):
            line(panel, chosen(of["bandwidth"], processes=n, protocol=protocol), "bandwidth", "delay", protocol)
        panel.set(
            xscale="log", yscale="log", title=f"{n} processes", xlabel="bytes a process can send in a mean latency"
        )
    panels[0].set_ylabel("delay in all, mean latencies")
    panels[0].legend(fontsize=7)


def synchronous(figure: Figure, of: Points) -> None:
    panels = figure.subplots(1, 3, sharey=True)
    for panel, workload in zip(panels, ("client-server", "downward", "upward"), strict=True):
        for protocol in ("murty-garg", "rendezvous"):
            some = chosen(of["synchronous"], workload=workload, protocol=protocol)
            line(panel, some, "load", "added", protocol)
        waits = workload == "client-server"
        xlabel = "load, while a client thinks" if waits else "load"
        panel.set(yscale="log", title=f"{workload} traffic", xlabel=xlabel)
    panels[0].set_ylabel("delay added, mean latencies")
    panels[0].legend(fontsize=7)


def thresholds(figure: Figure, of: Points) -> None:
    left, right = figure.subplots(1, 2)
    sizes = sorted({point["processes"] for point in of["thresholds"]})
    for n, colour in zip(sizes, BY_SIZE, strict=True):
        some = chosen(of["thresholds"], processes=n, load=0.1)
        ours = [point for point in chosen(some, protocol="extra-messages") if "," not in point["parameters"]]
        ours.sort(key=lambda point: int(point["parameters"][2:]))
        places = [int(point["parameters"][2:]) / n for point in ours]
        for panel, name in ((left, "control"), (right, "bytes")):
            with_errors(panel, places, ours, name, marker="o", color=colour, label=f"extra-messages, {n} processes")
        for protocol, style in (("optimal", "--"), ("rst", ":")):
            (point,) = chosen(some, protocol=protocol)
            label = f"{protocol}, {n} processes"
            right.axhline(point["bytes"].mean, color=colour, linestyle=style, linewidth=1, label=label)
    left.set(xlabel="k / n", ylabel="extra messages a message", xscale="log")
    right.set(xlabel="k / n", ylabel="bytes added a message, extra messages included", xscale="log", yscale="log")
    for panel in (left, right):
        panel.set_xticks([1, 1.5, 2, 3, 4, 6, 12], ["1", "1.5", "2", "3", "4", "6", "12"])
        panel.minorticks_off()
    left.legend(fontsize=7)
    right.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def sizes(figure: Figure, of: Points) -> None:
    panel = figure.subplots()
    for protocol in ("rst", "ses", "optimal", "cbcast", "murty-garg", "buffer", "fifo-sequence"):
        line(panel, chosen(of["sizes"], protocol=protocol), "processes", "bytes", protocol)
    for label, style, times, more in (("k = n + 1", "-", 1, 1), ("k = 2n", "--", 2, 0)):
        some = [
            point
            for point in chosen(of["sizes"], protocol="extra-messages")
            if point["parameters"] == f"k={times * point['processes'] + more}"
        ]
        line(panel, some, "processes", "bytes", "extra-messages", label=f"extra-messages, {label}", linestyle=style)
    panel.set(xscale="log", yscale="log", xlabel="processes", ylabel="bytes added a message")
    panel.set_xticks([4, 8, 12, 16, 32], ["4", "8", "12", "16", "32"])
    panel.minorticks_off()
    panel.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


#: Name → (function that draws it, width and height in inches, title).
PLOTS: Mapping[str, tuple[Callable[[Any, Points], None], tuple[float, float], str]] = {
    "delay": (delay, (9, 3.4), "MF24: delay added as the load grows; uniform traffic, 6 processes"),
    "bandwidth": (bandwidth, (8, 3.4), "MF24: delay in all on narrow lines; load 0.1, payload of 100 bytes"),
    "synchronous": (synchronous, (9, 3.2), "MG21: delay added, beside the algorithm that blocks; 6 processes"),
    "thresholds": (thresholds, (10, 3.8), "SA13: extra messages, and bytes in all, by the threshold k; load 0.1"),
    "sizes": (sizes, (8, 3.8), "Bytes that a protocol adds to a message, control packets included; load 0.02"),
}


def draw(folder: Path, of: Points) -> None:
    """Draws all plots into the folder."""
    import matplotlib
    from matplotlib.figure import Figure as Drawing

    # The same studies give the same files.
    with matplotlib.rc_context({"svg.hashsalt": "crownless", "font.size": 8, "svg.fonttype": "path"}):
        for name, (plot, size, title) in PLOTS.items():
            figure = Drawing(figsize=size, layout="constrained")
            plot(figure, of)
            for panel in figure.axes:
                panel.spines[["top", "right"]].set_visible(False)
                panel.grid(True, linewidth=0.3, alpha=0.6)
            figure.suptitle(title, fontsize=9)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})


def line(
    panel: Axes, some: Sequence[Point], x: str, y: str, protocol: str, *, label: str | None = None, linestyle: str = "-"
) -> None:
    """A protocol's figure with its confidence intervals; open marks where the delay grows with the run. Experiments
    that got stuck have no figures and are left out.
    """
    these = sorted((point for point in some if point[y] is not None), key=lambda point: point[x])
    growing = [point for point in these if point.growing]
    style: dict[str, Any] = {"color": COLOURS[protocol], "marker": MARKERS.get(protocol, "o")}
    with_errors(panel, [point[x] for point in these], these, y, label=label or protocol, linestyle=linestyle, **style)
    at, means = [point[x] for point in growing], [point[y].mean for point in growing]
    panel.plot(at, means, linestyle="none", markersize=7, markerfacecolor="white", zorder=3, **style)


def with_errors(panel: Axes, places: Sequence[float], some: Sequence[Point], y: str, **style: Any) -> None:
    """Points at these places, each with its interval if it has one."""
    means = [nan if point[y] is None else point[y].mean for point in some]
    errors = [0.0 if point[y] is None or not isfinite(point[y].error) else point[y].error for point in some]
    panel.errorbar(places, means, errors, markersize=4, linewidth=1.2, capsize=2, **style)


def chosen(some: Sequence[Point], **settings: object) -> list[Point]:
    """The points with these settings, such as ``load=0.1``."""
    return [point for point in some if all(point[name] == value for name, value in settings.items())]


def write_page(folder: Path, rows: Sequence[Row], seeds: int = SEEDS) -> None:
    """Writes plots and figures of the rows for `of_the_page(seeds)`, in that order."""
    folder.mkdir(parents=True, exist_ok=True)
    of: dict[str, list[Point]] = {}
    start = 0
    for name, study in STUDIES.items():
        count = sum(1 for _ in study(seeds))
        of[name] = points(rows[start : start + count])
        start += count
    draw(folder, of)
    write_csv((point for some in of.values() for point in some), folder / "figures.csv")


def write_csv(some: Iterable[Point], file: Path) -> None:
    """A line an experiment: its settings, each figure, its error, and of how many runs it is the mean.

    Nothing stands where there is no figure, and where one run alone has no error.
    """
    columns = [column for name in AVERAGED for column in (name, f"{name}_error", f"{name}_values")]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*FIELDS_BUT_SEED, "repetitions", "stuck", "violated", "growing", *columns])
        for point in some:
            figures = [
                "" if number is None or not isfinite(number) else f"{number:.5g}"
                for name in AVERAGED
                for number in point.figures[name] or (None, None, 0)
            ]
            settings = [point.settings[name] for name in FIELDS_BUT_SEED]
            writer.writerow([*settings, point.repetitions, point.stuck, point.violated, int(point.growing), *figures])


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seeds", default=SEEDS, show_default=True, help="How often each experiment is repeated.")
@click.option("--engine", type=click.Choice(["plain", "spark"]), default="plain", show_default=True)
@click.option("--kept", type=click.Path(path_type=Path), help="A folder for the simulations, to resume from.")
def main(folder: Path, seeds: int, engine: str, kept: Path | None) -> None:
    """Run all studies, and write their plots and figures into the FOLDER."""
    write_page(folder, sweep(of_the_page(seeds), engine=engine, out=kept), seeds)


if __name__ == "__main__":
    main()
