"""`crownless cost`: the costs of protocols in bytes, control messages and delay."""

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, say
from crownless.command_line.file_options import OutputFolder
from crownless.command_line.options import Command, complete_protocol, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.command_line.request_options import Number, with_limits, with_settings
from crownless.command_line.tables import Rows
from crownless.impl.protocol import Setting, promised_orders
from crownless.impl.registry import protocol_named
from crownless.research.costs.experiment import COMPARED, SEEDS, Experiment, Row, combinations
from crownless.research.costs.figures import Point, points
from crownless.research.costs.latencies import LATENCIES
from crownless.research.costs.sweeping import sweep
from crownless.research.costs.traffic import TRAFFIC
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import listed, some

ENGINES = ("plain", "spark")
#: The figures in the table, in order.
SHOWN = ("added", "before", "room", "after", "control", "bytes", "bytes_varint")

MAX_SEEDS = 100_000


@click.command(cls=Command, everyday="processes workloads loads latencies messages seeds max_seconds as_json")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...", shell_complete=complete_protocol)
@click.option("-n", "--processes", type=int, multiple=True, help="Number of processes (repeatable).  [4]")
@click.option("--workload", "workloads", multiple=True, help=f"{', '.join(TRAFFIC)}.  [uniform]")
@click.option(
    "--load",
    "loads",
    type=float,
    multiple=True,
    help="Messages each process sends per mean latency (clients: excluding think time).  [0.1]",
)
@click.option("--latency", "latencies", multiple=True, help=f"{', '.join(LATENCIES)}.  [exponential]")
@click.option(
    "--bandwidth", "bandwidths", type=float, multiple=True, help="Bytes a process can transmit per mean latency."
)
@click.option("--channel", help="unordered or fifo.  [default: the one the protocol needs]")
@with_settings("Set a protocol parameter, such as k=9.")
@click.option("--payload", type=int, default=100, show_default=True, help="Bytes of application data per message.")
@click.option("-m", "--messages", type=int, default=500, show_default=True, help="Messages per simulation.")
@click.option(
    "--seeds",
    type=Number(most=MAX_SEEDS),
    default=SEEDS,
    show_default=True,
    help="Repetitions of each experiment.",
)
@click.option("--engine", default="plain", show_default=True, help="plain (one process) or spark.")
@click.option("--master", help="Where Spark runs, such as local[2].  [default: all processors of this machine]")
@click.option(
    "--out", type=OutputFolder(), metavar="FOLDER", help="Save simulations in this folder, as Parquet, or resume."
)
@with_limits
@with_output
def cost(
    protocols: tuple[str, ...],
    processes: tuple[int, ...],
    workloads: tuple[str, ...],
    loads: tuple[float, ...],
    latencies: tuple[str, ...],
    bandwidths: tuple[float, ...],
    channel: str | None,
    settings: dict[str, Setting],
    payload: int,
    messages: int,
    seeds: int,
    engine: str,
    master: str | None,
    out: Path | None,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """What do the PROTOCOLs cost? Simulate them under a clock, for every combination of the options.

    \b
    Examples:
      crownless cost rst ses -n 4 -n 8      two protocols, for 4 and 8 processes
      crownless cost --out costs/           save the simulations, or resume them

    Exit codes: 0 every simulation kept the promised order, 1 some violated it, 2 bad usage, 3 a limit was reached or it
    was interrupted: the figures cover the simulations done by then.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise BadInput("--master requires --engine spark", hint="add --engine spark")
    for name in protocols:
        protocol_named(name)
    experiments = combinations(
        protocols or COMPARED,
        processes=processes or (4,),
        workloads=workloads or ("uniform",),
        loads=loads or (0.1,),
        latencies=latencies or ("exponential",),
        bandwidths=bandwidths or (0.0,),
        parameters=[settings],
        seeds=seeds,
        messages=messages,
        base=Experiment("unordered", channel=channel, payload=payload),
    )
    rows: list[Row] = []
    done_by_now: dict[str, Row] = {}
    with status(quiet or as_json) as line:
        how_far = ""

        def progress(done: int, total: int) -> None:
            nonlocal how_far
            how_far = f"{done:,} of {some(total, 'simulation')}"
            line.update(how_far)

        with stoppable(limits) as part, redirect_stdout(sys.stderr):  # a machine's prints are not part of the answer
            rows = sweep(experiments, engine=engine, out=out, master=master, progress=progress, found=done_by_now)
    if part.reason is not None:
        rows = list(done_by_now.values())
        kept = f"saved in {out}; the same command resumes there"
        say(f"{how_far} {'done, none saved; --out FOLDER saves them' if out is None else kept}")
        if not rows:
            raise Stopped(part.reason)
        say(part.reason)
    found = points(rows)
    violated = any(point.violated and not _is_no_promise(point) for point in found)
    if as_json:
        print_json({"costs": [point.json() for point in found]})
    else:
        _print(found)
    if violated:
        return EXIT_VIOLATED
    return EXIT_HOLDS if part.reason is None else EXIT_UNKNOWN


def _is_no_promise(point: Point) -> bool:
    """Over a weaker channel than it needs a protocol promises nothing."""
    needs = protocol_named(point["protocol"]).needs_channel
    return needs == "fifo" and point["channel"] == "unordered"


def _print(found: list[Point]) -> None:
    first = found[0]
    fixed = {
        "processes": some(first["processes"], "process"),
        "workload": f"{first['workload']} traffic",
        "load": f"{first['load']:g} messages a process in one mean latency",
        "latency": f"{first['latency']} latencies",
        "bandwidth": f"{first['bandwidth']:g} bytes in one mean latency" if first["bandwidth"] else "",
    }
    varying = [name for name in fixed if len({point[name] for point in found}) > 1]
    repeated = f"{some(first.repetitions, 'run')} of {some(first['messages'], 'message')} each"
    parts = [text for name, text in fixed.items() if name not in varying and text]
    print_line(f"{', '.join(parts)}; {repeated}; mean and 95% confidence interval; times in mean latencies")
    right = ("delay added", "at sender", "hold-back queue", "later", "control messages", "bytes added", "as varints")
    rows = Rows("protocol", *varying, *right, "remark", right=right)
    for point in found:
        stuck = f"stuck ({point.stuck} of {point.repetitions})" if point.stuck else ""
        rows.add_row(
            f"{point['protocol']} {point['parameters']}".strip(),
            *[f"{point[each]:g}" if isinstance(point[each], float) else str(point[each]) for each in varying],
            *["–" if point[name] is None else str(point[name]) for name in SHOWN],
            "delay growing" if point.growing else stuck,
        )
    rows.print()
    for point in found:
        if point.violated:
            violated = f"{point.violated} of {some(point.repetitions, 'run')}"
            promise = listed(promised_orders(protocol_named(point["protocol"])))
            print_line(f"{point['protocol']} violates {promise} order in {violated}")
