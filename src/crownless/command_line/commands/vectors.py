"""`crownless vectors`: test vectors for implementations that read files instead of being driven."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, say
from crownless.command_line.file_options import OutputFile, cannot_be_written
from crownless.command_line.options import Command, with_output, within
from crownless.command_line.output import print_json
from crownless.command_line.request_options import with_limits
from crownless.model_check.check.vectors import ORDERS_OF_VECTORS
from crownless.model_check.check.vectors import vectors as vectors_of
from crownless.model_check.search.counting import MAX_MESSAGES, MAX_PROCESSES
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import as_json as as_json_text
from crownless.spec.enumeration import known_sends

#: The number of vectors between two checks of the limits.
EVERY = 256


@click.command(cls=Command, everyday="processes messages order sends out as_json")
@click.option("-n", "--processes", type=int, default=3, show_default=True, help="Number of processes.")
@click.option("-m", "--messages", type=int, default=3, show_default=True, help="Number of messages.")
@click.option("--order", default="causal", show_default=True, help=f"{' or '.join(ORDERS_OF_VECTORS)}.")
@click.option("--sends", default="unicast", show_default=True, help="unicast or broadcast.")
@click.option("--out", type=OutputFile(), help="Write the vectors to FILE.  [default: standard output]")
@with_limits
@with_output
def vectors(
    processes: int, messages: int, order: str, sends: str, out: str | None, limits: Limits, as_json: bool, quiet: bool
) -> int:
    """Write every order in which packets can arrive, and the deliveries due after each arrival.

    Each line is an object: `processes`, and `steps` in order. A process sends a message to others (`send`, `to`),
    or a packet of a message arrives, and these messages are delivered at once (`arrives`, `delivers`, in any sequence
    that the order allows). Processes are numbered from 0.

    \b
    Example:
      crownless vectors -n 3 -m 3 --order causal --out causal.jsonl

    Exit codes: 0 all are written, 2 bad usage, 3 a limit was reached: only the first ones are written.
    """
    within("-n", processes, MAX_PROCESSES)
    within("-m", messages, MAX_MESSAGES)
    if order not in ORDERS_OF_VECTORS:
        raise unknown_name("order of vectors", order, ORDERS_OF_VECTORS)
    kind = known_sends(sends)
    if as_json and out is not None:
        raise BadInput("--json cannot be combined with --out, which writes JSON lines", hint="leave one of them out")
    found, stopped, began = vectors_of(order, processes, messages, kind), None, time.monotonic()
    written: list[Any] = []
    with nullcontext(sys.stdout) if out is None else _opened(out) as file:
        for number, vector in enumerate(found):
            if not number % EVERY and (stopped := limits.reached(time.monotonic() - began)):
                break
            written.append(vector if as_json else None)
            if not as_json:
                file.write(as_json_text(vector) + "\n")
    if as_json:
        print_json({"vectors": written, "stopped": stopped})
    if stopped is not None:
        say(f"{stopped}; these are the first {len(written):,} vectors")
        return EXIT_UNKNOWN
    if out is not None and not quiet:
        say(f"{out}: {len(written):,} vectors")
    return EXIT_HOLDS


@contextmanager
def _opened(name: str) -> Iterator[TextIO]:
    try:
        with Path(name).open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise cannot_be_written("--out", name, error) from None
