"""The engine that explores a check, and the reduction it admits.

The native engine explores every check that it supports, the plain explorer the rest; the native engine's search runs
on Spark only if requested by name.

Symmetry reduction visits only one of the states that differ by process names alone; the counts are then of the
remaining states. It is valid if processes differ only by their names: the machine is `symmetric`, the workload is the
free one, every parameter has one value for all, none may crash, and orders are judged at all alike. Then it is valid
for every property, since each says the same of every process.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free, Program
from crownless.model_check.system.monitors import Monitor
from crownless.model_check.system.request import Check, NotApplicable, ResolvedCheck
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import some, with_article

ENGINES = ("native", "plain", "spark")
#: The channels that the native engine supports, as its kernels number them.
NATIVE_CHANNELS = ("unordered", "fifo", "lossy", "duplicating")
REDUCTIONS, ALL = ("symmetry",), "all"

#: Symmetry reduction tries every renaming of the processes; for more processes these are too many.
MAX_RENAMED = 7
MAX_WORKERS = 64
#: The native engine has as many bits for them.
MAX_LOCAL_PREDICATES = 40
#: The kernels that take long to compile; the others take at most a second.
LONG_TO_COMPILE = ("expand",)
#: The same for the monitor of logs.
LONG_TO_COMPILE_FOR_LOGS = ("_read", "_decide_runs")


class SymmetryCheck(NamedTuple):
    """The evidence of a search that processes declared alike are alike."""

    #: The difference seen, if any: then they shared nothing, and none stood for another.
    asymmetry: str | None = None
    #: The number of entries in the tables that they share, and how many of these were compared at every process.
    entries: int = 0
    compared: int = 0


@dataclass(frozen=True)
class Engine:
    """The engine of a check, with its settings."""

    name: str
    workers: int = 1
    reductions: tuple[str, ...] = ()
    #: True if processes may share their tables of local transitions, as they differ by name alone.
    shared: bool = False
    #: Why it is not the native one, unless it was requested by name.
    because: str = ""
    #: The search's evidence on processes declared alike.
    symmetry: SymmetryCheck = field(default=SymmetryCheck())

    @property
    def asymmetry(self) -> str | None:
        return self.symmetry.asymmetry

    def after(self, symmetry: SymmetryCheck) -> "Engine":
        """The engine as it was in the end, given the search's evidence on processes declared alike."""
        if symmetry.asymmetry is None:
            return replace(self, symmetry=symmetry)
        return replace(self, reductions=(), shared=False, symmetry=symmetry)

    def __str__(self) -> str:
        said = {"plain": "plain explorer", "spark": "native engine on Spark"}.get(
            self.name, f"native engine, {some(self.workers, 'worker')}"
        )
        said += f" ({self.because})" if self.because else ""
        said += "; counts are after symmetry reduction" if self.reductions else ", no reductions"
        if self.asymmetry is None:
            return said
        return f"{said}; declared symmetric, but {self.asymmetry}, so symmetry is not used"


def engine_for(
    check: ResolvedCheck,
    *,
    engine: str | None = None,
    reductions: Iterable[str] = (),
    workers: int | None = None,
) -> Engine:
    """The engine for this check; raises `BadInput` if the request is not possible, and `NotApplicable` if it may be for
    another protocol. Of the reductions, `all` names every one.
    """
    given = tuple(dict.fromkeys(reductions))
    for name in given:
        if name not in (*REDUCTIONS, ALL):
            raise unknown_name("reduction", name, (*REDUCTIONS, ALL))
    wanted = REDUCTIONS if ALL in given else given
    if engine is not None and engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    for option, lacks, named in (("reduce", "reductions", wanted), ("workers", "workers", (workers or 1) > 1)):
        if named and engine == "plain":
            hint = f"leave out --engine or --{option}"
            raise BadInput(f"--engine plain: the plain engine has no {lacks}", hint=hint)
    why = None if engine == "plain" else _why_not_native(check)
    if why is not None and engine is not None:
        raise NotApplicable(check.protocol, f"--engine {engine}: {why}", hint="leave that out", joint=": ")
    asymmetry = _asymmetry(check)
    if wanted:
        reason = why or asymmetry or _why_not_renamed(check)
        if reason is not None:
            raise NotApplicable(check.protocol, f"does not admit --reduce symmetry: {reason}", hint="leave that out")
    if engine == "plain" or why is not None:
        return Engine("plain", because=why or "")
    threads = workers if workers is not None and engine != "spark" else cpus()
    return Engine(engine or "native", threads, wanted, shared=asymmetry is None)


def admitted(
    check: Check, engine: str | None = None, reductions: Iterable[str] = (), workers: int | None = None
) -> ResolvedCheck | NotApplicable:
    """The resolved check; or why this protocol does not admit it, or not with this engine and reductions."""
    try:
        resolved = check.resolve()
        engine_for(resolved, engine=engine, reductions=reductions, workers=workers)
    except NotApplicable as why:
        return why
    return resolved


def cpus() -> int:
    """The processors that this process may use."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(MAX_WORKERS, available))


def _why_not_native(check: ResolvedCheck) -> str | None:
    """The reason why the native engine cannot explore this; None if it can."""
    if check.crash is not None and type(check.machine).agree is not ProtocolMachine.agree:
        return "the native engine does not support agreement of survivors"
    if check.machine.timers:
        return "the native engine does not support timers"
    if check.channel_name not in NATIVE_CHANNELS or CHANNELS[check.channel_name] is not check.channel:
        return f"the native engine does not support the {check.channel_name} channel"
    if type(check.workload) not in (Free, Program):
        return "the native engine supports the free workload and programs only"
    machine = check.machine
    if len(machine.invariants) + len(machine.witnesses) + len(machine.rules) > MAX_LOCAL_PREDICATES:
        return f"the native engine takes at most {MAX_LOCAL_PREDICATES} invariants, witnesses and rules of a protocol"
    return None


def _asymmetry(check: ResolvedCheck) -> str | None:
    """The reason why processes differ by more than their names; None if nothing does."""
    if not isinstance(check.workload, Free):
        return "a program assigns its actions to named processes"
    if check.crash is not None:
        return "one process may crash, and others may not"
    if not check.machine.symmetric:
        return "it does not treat all processes alike"
    if check.machine.ordered_at is not None:
        return "its orders are judged at some processes only"
    for name, value in check.machine.settings.items():
        if isinstance(value, tuple) and len(set(value)) > 1:
            return f"processes have {with_article(name)} of their own"
    return None


def _why_not_renamed(check: ResolvedCheck) -> str | None:
    """The reason why states of processes that are alike cannot be renamed; None if they can."""
    if any(type(monitor).renamed is Monitor.renamed for monitor in check.system().monitors):
        return "what is remembered of its runs cannot be renamed"
    n = check.machine.n
    if n > MAX_RENAMED:
        return f"symmetry reduction supports at most {MAX_RENAMED} processes"
    return None


class RemoteEngine(Protocol):
    """Runs the native engine's search outside this package: see `pipeline.exploration`."""

    def search(self, check: ResolvedCheck, engine: Engine, saving: Any) -> AbstractContextManager[Any]:
        """A `LevelSearch`; `saving` is its checkpoint, or None."""


#: Reported once per machine: the code is kept on disk, beside the program or in the user's cache, if that is writable.
COMPILES = "compiling a part of the engine for this machine, once: up to a minute"


@contextmanager
def compiling(report: Callable[[], None], kernels: Collection[str] = LONG_TO_COMPILE) -> Iterator[None]:
    """Within it, reports when one of these kernels begins to be compiled for this machine.

    Compiled kernels are kept on disk; loading them from there is not reported.
    """
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: event.Event) -> None:
            if event.data["dispatcher"].__name__ in kernels:
                report()

        def on_end(self, event: event.Event) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield
