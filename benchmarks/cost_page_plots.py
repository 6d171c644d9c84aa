"""The plots of the page of costs: each a function of the studies' points, drawn by matplotlib as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cost_page_studies import FEW_LOADS, LOADS

from crownless.model_check.simulation.figures import Point, chosen
from crownless.model_check.simulation.latencies import output_wait

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
#: Dash patterns of lines that coincide with others.
BROKEN_LINES = {"ses": (0, (2, 3))}
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


def traffic(figure: Figure, of: Points) -> None:
    panels = figure.subplots(1, 4, sharey=True)
    for panel, workload in zip(panels, ("uniform", "bursts", "pairs", "client-server"), strict=True):
        some = chosen(of["delay"], workload=workload, latency="exponential", load=(0.02, 0.05, 0.1, 0.2, 0.3))
        for protocol in ("buffer", "buffer-pipelined", "rst"):
            line(panel, chosen(some, protocol=protocol), "load", "added", protocol)
        waits = workload == "client-server"
        panel.set(yscale="log", title=workload, xlabel="load, while a client thinks" if waits else "load")
        panel.set_ylim(1e-3, 40)
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


def control(figure: Figure, of: Points) -> None:
    panel = figure.subplots()
    workloads = list(dict.fromkeys(point["workload"] for point in of["control"]))
    sizes = sorted({point["processes"] for point in of["control"]})
    for k, n in enumerate(sizes):
        some = [chosen(of["control"], workload=workload, processes=n)[0]["control"] for workload in workloads]
        places = [x + 0.38 * (k - (len(sizes) - 1) / 2) for x in range(len(workloads))]
        panel.bar(places, [each.mean for each in some], 0.36, color=BY_SIZE[k], label=f"{n} processes")
        panel.errorbar(places, [each.mean for each in some], [each.error for each in some], fmt="none", color="black")
    panel.axhline(1.5, color="#D55E00", linestyle="--", linewidth=1, label="1.5, as the text has it")
    panel.set_xticks(range(len(workloads)), workloads)
    panel.set(ylabel="control messages a message", ylim=(0, 2.3))
    panel.legend(fontsize=7, ncols=3, loc="upper left")


def withheld(figure: Figure, of: Points) -> None:
    panel = figure.subplots()
    slowest = {"constant": 1.0, "uniform": 2.0}
    some = chosen(of["withheld"], workload="uniform")
    sizes = sorted({point["processes"] for point in some})
    styles = iter((("#56B4E9", "o"), ("#0072B2", "s"), ("#E69F00", "^"), ("#D55E00", "D")))
    for latency, t in slowest.items():
        for load in (0.05, 0.15):
            colour, marker = next(styles)
            these = sorted(chosen(some, latency=latency, load=load), key=lambda point: point["processes"])
            panel.errorbar(
                [point["processes"] for point in these],
                [point.mean("withheld_most") / t for point in these],
                [error_of(point, "withheld_most") / t for point in these],
                marker=marker, markersize=4, color=colour, capsize=2, linewidth=1,
                label=f"longest of a run: {latency} latencies, load {load:g}",
            )  # fmt: skip
    panel.plot(sizes, sizes, "--", color="#999999", label="n t, as the text has it")
    panel.plot(sizes, [2 * (n - 2) for n in sizes], "-", color="black", linewidth=1, label="2(n − 2) t, proved")
    panel.set(xlabel="processes", ylabel="acknowledgement withheld, in t", xticks=sizes)
    panel.legend(fontsize=7)


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
            panel.errorbar(
                places, [point.mean(name) for point in ours], [error_of(point, name) for point in ours],
                marker="o", markersize=4, color=colour, capsize=2, label=f"extra-messages, {n} processes",
            )  # fmt: skip
        for protocol, style in (("optimal", "--"), ("rst", ":")):
            (point,) = chosen(some, protocol=protocol)
            label = f"{protocol}, {n} processes"
            right.axhline(point.mean("bytes"), color=colour, linestyle=style, linewidth=1, label=label)
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
    "delay": (
        delay,
        (9, 3.4),
        "MF24: delay added as the load grows; uniform traffic, 6 processes",
    ),
    "traffic": (
        traffic,
        (9, 3.2),
        "MF24: delay added by kinds of traffic; 6 processes, exponential latencies",
    ),
    "bandwidth": (bandwidth, (8, 3.4), "MF24: delay in all on narrow lines; load 0.1, payload of 100 bytes"),
    "control": (control, (7, 3), "MG19: control messages of Murty & Garg's algorithm"),
    "withheld": (withheld, (7, 3.6), "MG20: how long acknowledgements are withheld; t is the longest latency"),
    "synchronous": (synchronous, (9, 3.2), "MG21: delay added, beside the algorithm that blocks; 6 processes"),
    "thresholds": (thresholds, (10, 3.8), "SA13: extra messages, and bytes in all, by the threshold k; load 0.1"),
    "sizes": (sizes, (8, 3.8), "Bytes that a protocol adds to a message, control packets included; load 0.02"),
}


def draw(folder: Path, of: Points) -> dict[str, str]:
    """Draws all plots into the folder, each as PNG and SVG; returns name → title."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    # The same studies give the same files.
    with matplotlib.rc_context({"svg.hashsalt": "crownless", "font.size": 8, "svg.fonttype": "path"}):
        for name, (plot, size, title) in PLOTS.items():
            figure = Drawing(figsize=size, layout="constrained")
            FigureCanvasAgg(figure)
            plot(figure, of)
            for panel in figure.axes:
                panel.spines[["top", "right"]].set_visible(False)
                panel.grid(True, linewidth=0.3, alpha=0.6)
            figure.suptitle(title, fontsize=9)
            figure.savefig(folder / f"{name}.png", dpi=130, metadata={"Software": None})
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    return {name: title for name, (_, _, title) in PLOTS.items()}


def line(
    panel: Axes, some: Sequence[Point], x: str, y: str, protocol: str, *, label: str | None = None, linestyle: str = "-"
) -> None:
    """A protocol's figure with its confidence intervals; open marks where the delay grows with the run. Experiments
    that got stuck have no figures and are left out.
    """
    these = sorted((point for point in some if point[y] is not None), key=lambda point: point[x])
    growing = [point for point in these if point.growing]
    panel.errorbar(
        [point[x] for point in these],
        [point.mean(y) for point in these],
        [error_of(point, y) for point in these],
        label=label or protocol, color=COLOURS[protocol], marker=MARKERS.get(protocol, "o"), markersize=4,
        linewidth=1.2, capsize=2, linestyle=BROKEN_LINES.get(protocol, linestyle),
    )  # fmt: skip
    panel.plot(
        [point[x] for point in growing], [point.mean(y) for point in growing],
        linestyle="none", color=COLOURS[protocol], marker=MARKERS.get(protocol, "o"), markersize=7,
        markerfacecolor="white", zorder=3,
    )  # fmt: skip


def error_of(point: Point, name: str) -> float:
    """Half the width of the interval, 0 if there is none."""
    found = point[name]
    return found.error if found is not None and isfinite(found.error) else 0.0
