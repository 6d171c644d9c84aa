"""The functions of `import crownless as cr`; each imports what it needs when it is called.

Invalid input raises `BadInput`, whose text is one line: the problem, and a hint. Where it mentions an option of the
command line, it means the argument of that name.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, get_args

from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import printable
from crownless.spec.computation import Computation
from crownless.spec.drawn import Drawn
from crownless.spec.notation import Script
from crownless.spec.orders import UnreceivedPolicy, order_named, telling
from crownless.spec.recorder import Recorder

from . import arguments
from .spec import notation

if TYPE_CHECKING:
    from crownless.impl.channels import Channel
    from crownless.impl.protocol import Protocol, Setting
    from crownless.impl.workloads import Workload
    from crownless.model_check.check.check_result import CheckResult
    from crownless.model_check.search.counting import Count
    from crownless.model_check.search.engines import RemoteEngine
    from crownless.model_check.search.reachable import Reached
    from crownless.model_check.search.realizing import Realization
    from crownless.model_check.system.exploration import Exploration
    from crownless.model_check.system.monitors import Monitor
    from crownless.model_check.system.request import Check
    from crownless.oracle.log_orders.classification import Classification
    from crownless.oracle.logs.formats import Format
    from crownless.oracle.logs.named_computation import NamedComputation
    from crownless.proofs.proving import ProofReport
    from crownless.spec.enumeration import Sends

    #: A protocol: its name (`rst`, `hub.py:Hub`, `package.module:Class`), its class, or a machine.
    ProtocolLike = str | type[Protocol] | Protocol
    #: A program: a bundled name, a file, or its text.
    ProgramLike = str | Path | Script
    #: An object that can be classified or drawn.
    ComputationLike = str | Computation | NamedComputation | Recorder

    class Scope(TypedDict, total=False):
        """The arguments that define a check, as in `check`."""

        program: ProgramLike | None
        workload: Workload | None
        channel: str | type[Channel] | None
        orders: Iterable[str]
        sends: Sends | None
        self_sends: bool
        parameters: Mapping[str, Setting] | None
        clocks: Iterable[str]
        crash: str | None
        monitors: Iterable[Monitor]


#: The forms of a drawing.
DrawingForm = Literal["text", "svg", "html"]

# -- computations and logs ---------------------------------------------------------------------------------------------


def parse(text: str) -> Computation:
    """The computation described by a text in the papers' notation, one line per process.

    >>> parse("Alice: send x to Bob\\nBob: receive x").complete
    True

    Raises `BadInput`, with line and column, if the text is invalid.
    """
    return notation.to_computation(notation.parse(text))


def program(text: str, name: str | None = None) -> Script:
    """A program in the same notation, where a receive may accept any message; `name` is its name in reports."""
    return replace(notation.parse(text), name=name)


def read_log(
    file: str | os.PathLike[str] | Iterable[str],
    *,
    format: Format | None = None,  # noqa: A002  # as the option is called
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    pattern: str | None = None,
    order_by: str | None = None,
) -> list[NamedComputation]:
    """The runs of an event log: a file, `-` for standard input, a bundled name, or lines of JSON.

    Each has its `computation`, and the `holes` in the log. `format`: needed if the file name does not show it;
    `columns`: the log's names of columns, `{"message": "msg_id"}`; `kinds`: its names of kinds of events,
    `{"recv": "deliver"}`; `pattern`: the expression that finds messages in a ShiViz log; `order_by`: the column of
    numbers or times that orders each process's events, or `line`, instead of `index`; all as for `crownless classify`.
    Raises `BadInput` with the invalid line.
    """
    from crownless.oracle.logs.formats import FORMATS, LogOptions
    from crownless.oracle.logs.reader import runs_in, subjects

    if format is not None and format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    options = LogOptions(format, dict(columns or {}), dict(kinds or {}), pattern, order_by=order_by)
    if isinstance(file, str | os.PathLike):
        return list(subjects(os.fspath(file), options))
    if hasattr(file, "columns"):
        hint = "write it first, as by log.to_parquet('log.parquet'), and give the name of the file"
        raise BadInput("read_log takes a path or JSON lines, not a DataFrame", hint=hint)
    if format is not None or pattern is not None:
        raise BadInput("in-memory lines must be JSON", hint="give `format` and `pattern` with a file")
    return list(runs_in("\n".join(file).encode(), "jsonl", "", options))


def classify(
    computation: ComputationLike, orders: Iterable[str] = (), *, unreceived: UnreceivedPolicy = "lost"
) -> Classification:
    """The verdict on each order: of those named, or of all, total order only if a message has several receivers.

    `classify(c)["causal"]` is that on causal order.

    A verdict is `kept` or has a `witness`, and is true if the order is kept; it is unknown, and then neither true nor
    false, where a log has holes that could hide a violation. `.strongest` names the strongest orders kept.

    `computation`: one that was parsed, read from a log or recorded, or its text. `unreceived`: unreceived messages are
    `lost`, or `pending` (then an order is kept if some completion keeps it).
    """
    from crownless.oracle.log_orders import classification as oracle

    names = [order_named(name).name for name in arguments.names("orders", orders)]
    subject = named("computation", computation)
    return oracle.classify(subject, names or telling(unicasts=subject.unicasts), unreceived)


def named(name: str, given: ComputationLike) -> NamedComputation:
    from crownless.oracle.logs.named_computation import NamedComputation

    if isinstance(given, NamedComputation):
        return given
    computation = parse(given) if isinstance(given, str) else given
    if isinstance(computation, Recorder):
        computation = computation.computation
    hint = "give a text, or what cr.parse, cr.read_log or a cr.Recorder has"
    return NamedComputation("", None, arguments.instance(name, computation, Computation, "computation", hint))


# -- protocols ---------------------------------------------------------------------------------------------------------


def check(
    protocol: ProtocolLike,
    processes: int | None = None,
    messages: int | None = None,
    *,
    program: ProgramLike | None = None,
    workload: Workload | None = None,
    channel: str | type[Channel] | None = None,
    orders: Iterable[str] = (),
    sends: Sends | None = None,
    self_sends: bool = False,
    parameters: Mapping[str, Setting] | None = None,
    clocks: Iterable[str] = (),
    crash: str | None = None,
    monitors: Iterable[Monitor] = (),
    first: bool = False,
    engine: str | None = None,
    reductions: Iterable[str] = (),
    workers: int | None = None,
    max_states: int | None = None,
    max_seconds: float | None = None,
    max_memory: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[Exploration, int], None] | None = None,
    elsewhere: RemoteEngine | None = None,
) -> CheckResult:
    """Whether a protocol keeps its order, delivers everything and never blocks, over every interleaving.

    >>> check("unordered", 2, 2, orders=["fifo"]).violations["fifo"].run.switches
    1

    The result is true if all holds; `.violations` has, by the name of the property, a shortest `.run` that can be
    printed; `.scope` describes the scope of the verdict. Without limits the search ends when every state is explored.

    `processes`, `messages`: the bound of the free workload, in which any process may send to any other while fewer than
    that many messages were sent; default: the protocol's own. `program`: a program instead of it. `workload`: any
    other. `self_sends`: processes may send to themselves too. `channel`: a name, or a class. `orders`: the orders to
    check, instead of the promised one. `sends`: `unicast`, `multicast`, `broadcast`, or `broadcast-to-all`: senders
    deliver their own messages, too. `parameters`: the protocol's own, such as `{"k": 3}`. `clocks`: clocks by which no
    message may arrive late. `crash`: the process that may crash. `monitors`: further monitors of runs. `engine`:
    `native`, `plain`, or `spark` with `elsewhere=OnSpark(…)`. `reductions`: `symmetry` or `all`. `max_seconds`,
    `max_states`, `max_memory` (bytes): limits at which the search ends early, with the results so far; at that of
    memory a search by the native engine goes on with its levels on disk, if that helps. `checkpoint`: a new directory,
    in which the search is saved; `resume`: a directory in which a search was saved, to continue it. `workers`: threads
    of the native engine, by default one per processor. `progress` is called with the findings so far and the level.
    `first`: the search ends at the shortest violation, and properties that no run of this length violates stay unknown.

    The logger `crownless` gets a warning for each violation found while a long search goes on, and for a declared
    symmetry that is found false.

    Raises `BadInput` if the request cannot be checked.
    """
    from crownless.model_check.check.check import run_check
    from crownless.model_check.search.engines import COMPILES, MAX_WORKERS, compiling

    log = logger()
    result = run_check(
        _request(
            protocol,
            processes,
            messages,
            program=program,
            workload=workload,
            channel=channel,
            orders=orders,
            sends=sends,
            self_sends=self_sends,
            parameters=parameters,
            clocks=clocks,
            crash=crash,
            monitors=monitors,
        ),
        limits_of(max_states, max_seconds, max_memory),
        progress,
        engine=engine,
        reductions=arguments.names("reductions", reductions),
        first=first,
        report=log.warning,
        on_violation=log.warning,
        around_native=lambda: compiling(lambda: log.info(COMPILES)),
        workers=arguments.optional_number("workers", workers, most=MAX_WORKERS),
        checkpoint=None if checkpoint is None else Path(checkpoint),
        resume=None if resume is None else Path(resume),
        elsewhere=elsewhere,
    )
    if result.engine.asymmetry is not None:
        log.warning("%s: declared symmetric, but %s", result.protocol, result.engine.asymmetry)
    return result


def states(
    protocol: ProtocolLike, processes: int | None = None, messages: int | None = None, **scope: Unpack[Scope]
) -> Iterator[Reached]:
    """Every reachable state, the nearest first: its `locals`, the packets `in_flight`, its `depth` in actions, and the
    possible `moves`. The arguments are those of `check`, up to `crash`.
    """
    from crownless.model_check.search.reachable import reachable

    return reachable(_request(protocol, processes, messages, **scope).resolve().system())


def realize(
    protocol: ProtocolLike,
    processes: int | None = None,
    messages: int | None = None,
    *,
    max_seconds: float | None = None,
    **scope: Unpack[Scope],
) -> Realization:
    """The complete computations that a protocol can generate, and the order they equal (`.equals`), or computations
    `missing` from an order, or `extra`. The arguments are those of `check`, for the free workload without crashes.
    """
    from crownless.model_check.search import realizing

    return realizing.realize(
        _request(protocol, processes, messages, **scope), limits=limits_of(None, max_seconds, None)
    )


def count(processes: int, messages: int, *, self_sends: bool = False, max_seconds: float | None = None) -> Count:
    """The number of complete computations in each order (`.counts`): processes are distinguished, messages only by
    their events.
    """
    from crownless.model_check.search import counting

    n = arguments.whole_number("processes", processes, most=counting.MAX_PROCESSES)
    m = arguments.whole_number("messages", messages, most=counting.MAX_MESSAGES)
    return counting.count(n, m, self_sends=self_sends, limits=limits_of(None, max_seconds, None))


def prove(protocol: ProtocolLike, *, effort: int | None = None) -> ProofReport:
    """Proofs by z3 about a protocol, for any number of processes and messages.

    A class derived from a protocol with a proof is checked against that proof; it is not proved if its steps are not
    those of which the proof speaks. `effort`: the steps allowed to z3 per
    query. Raises `BadInput` if there is no such proof.
    """
    from crownless.model_check.system.request import Check
    from crownless.proofs.induction.theorem import EFFORT
    from crownless.proofs.proving import proof_of, prove

    request = Check(protocol)
    steps = EFFORT if effort is None else arguments.whole_number("effort", effort)
    return prove(request.name, proof_of(request.kind), steps)


def logger() -> logging.Logger:
    """The logger for reports while a function of this module is running."""
    return logging.getLogger("crownless")


def _request(protocol: ProtocolLike, processes: int | None, messages: int | None, **scope: Unpack[Scope]) -> Check:
    """The request made from these arguments; a program may be given as a text."""
    from crownless.model_check.system.request import MAX_MESSAGES, MAX_PROCESSES, Check, refuse_asynchronous

    program = scope.pop("program", None)
    if program is not None and any((processes, messages, scope.get("sends"), scope.get("self_sends"))):
        hint = "leave out `processes`, `messages`, `sends` and `self_sends`"
        raise BadInput("`program`: a program has its own processes and messages", hint=hint)
    orders = arguments.names("orders", scope.get("orders", ()))
    refuse_asynchronous(orders, "`orders`")
    return Check(
        protocol,
        arguments.optional_number("processes", processes, most=MAX_PROCESSES),
        arguments.optional_number("messages", messages, most=MAX_MESSAGES),
        None if program is None else _script(program),
        scope.get("channel"),
        orders,
        scope.get("sends"),
        bool(scope.get("self_sends")),
        arguments.settings("parameters", scope.get("parameters") or {}),
        arguments.names("clocks", scope.get("clocks", ())),
        scope.get("crash"),
        scope.get("workload"),
        tuple(scope.get("monitors", ())),
    )


def limits_of(states: int | None, seconds: float | None, memory: int | None) -> Limits:
    return Limits(
        arguments.optional_number("max_states", states),
        None if seconds is None else arguments.seconds("max_seconds", seconds),
        arguments.optional_number("max_memory", memory),
    )


def _script(given: ProgramLike) -> Script:
    from crownless.model_check.system.request import load_program

    if isinstance(given, str):
        is_text = "\n" in given or (":" in given and not Path(given).exists())
        return notation.parse(given) if is_text else load_program(given)
    if isinstance(given, Path):
        return load_program(os.fspath(given))
    hint = "give its name, its file, its text, or what cr.program made of a text"
    return arguments.instance("program", given, notation.Script, "program", hint)


# -- drawings ----------------------------------------------------------------------------------------------------------


def draw(
    thing: ComputationLike | Drawn,
    *,
    form: DrawingForm = "text",
    unicode: bool = True,
    highlight: str | None = None,
) -> str:
    """A space-time diagram, time flowing down, of a computation, a run, a verdict, a classification or anything else
    that notebooks draw; for a result of `check` or `conform`, of every violation.

    `form`: text, or the source of an SVG picture (of a result's first violation) or of an HTML page. These highlight
    violations of the order `highlight`, or nothing if it is 'none'; default: FIFO and causal order, or the properties
    that a result violates. Over 200 messages, only an excerpt is drawn. `unicode`: False for text in plain ASCII.
    Raises `BadInput` if there is no such form or order, or there is nothing to draw, such as no violation.
    """
    from crownless.drawing.excerpt import excerpt
    from crownless.drawing.page import in_html
    from crownless.drawing.svg import in_svg
    from crownless.drawing.text import in_text

    if form not in get_args(DrawingForm):
        raise unknown_name("form", form, get_args(DrawingForm))
    if highlight is not None and highlight != "none":
        order_named(highlight)
    drawn = thing if isinstance(thing, Drawn) else named("thing", thing)
    diagrams = [excerpt(diagram) for diagram in drawn.diagrams(highlight)]
    if not diagrams:
        hint = "give a computation, or a result that shows a violation"
        raise BadInput(f"there is nothing to draw in {drawn!r}", hint=hint)
    if form == "text":
        titles = [f"{printable(each.title)}:\n" if drawn.titled else "" for each in diagrams]
        drawings = [in_text(each, unicode=unicode) for each in diagrams]
        return "\n".join(f"{title}{drawing}" for title, drawing in zip(titles, drawings, strict=True))
    return in_svg(diagrams[0]) if form == "svg" else in_html(diagrams, diagrams[0].title or "A space-time diagram")
