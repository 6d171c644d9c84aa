"""One check, put to the plain explorer and to the native engine: what their tests compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple
from unittest.mock import patch

from crownless.impl.protocol import ProtocolMachine
from crownless.model_check.native import search, workers
from crownless.model_check.native.checkpoints import Checkpoint
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.search.engines import engine_for
from crownless.model_check.search.explorer import explore
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.monitors import Monitor
from crownless.model_check.system.properties import monitors_of
from crownless.model_check.system.request import Check, ResolvedCheck
from crownless.model_check.system.system import System
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput

REDUCED = ("symmetry",)
#: In what explorations must agree.
COUNTS = ("states", "transitions", "depth", "terminal_states", "nodes", "graded", "violated", "reached", "blocked")


class Question(NamedTuple):
    """A check, put to both."""

    check: ResolvedCheck

    def system(self) -> System:
        return self.check.system()

    def plain(self, limits: Limits | None = None) -> Exploration:
        return explore(self.system(), self.check.properties, limits)

    def search(
        self, workers: int = 1, *, symmetry: bool = False, shared: bool | None = None, force: bool = False
    ) -> NativeSearch:
        """A search of the native engine. `shared` and `symmetry` are as the engine itself says, unless forced."""
        engine = engine_for(self.check, engine="native", reductions=REDUCED if symmetry and not force else ())
        reduced = REDUCED if symmetry else ()
        shares = engine.shared if shared is None else shared
        return NativeSearch(self.check, replace(engine, workers=workers, reductions=reduced, shared=shares))

    def native(
        self,
        workers: int = 1,
        *,
        symmetry: bool = False,
        shared: bool | None = None,
        force: bool = False,
        limits: Limits | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Exploration:
        made = self.search(workers, symmetry=symmetry, shared=shared, force=force)
        return made.explore(limits, checkpoint=checkpoint)

    def admits_symmetry(self) -> bool:
        """Does the engine take symmetry reduction here?"""
        try:
            engine_for(self.check, engine="native", reductions=REDUCED)
        except BadInput:
            return False
        return True

    def shares(self) -> bool:
        """May processes share their tables?"""
        return engine_for(self.check, engine="native").shared


def question(
    protocol: str | type[ProtocolMachine],
    n: int | None = None,
    messages: int | None = None,
    channel: str | None = None,
    **asked: Any,
) -> Question:
    """A protocol by name, or a machine that is in no registry; `asked`: other arguments of `Check`.

    Raises `BadInput` if it does not support that.
    """
    return Question(Check(protocol, n, messages, channel=channel, **asked).resolve())


def reported(found: Exploration) -> dict[str, Any]:
    """What an exploration says, without what two of them may differ in."""
    assert found.stopped is None
    return {name: getattr(found, name) for name in COUNTS} | {"actions": dict(found.actions)}


def same_verdicts(full: Exploration, reduced: Exploration) -> bool:
    """Do they say the same of every property, and of how soon it breaks?"""
    assert full.stopped is None
    assert reduced.stopped is None
    return full.violated == reduced.violated and full.reached == reduced.reached


@contextmanager
def small_rounds(block: int = 4, share: int = 8, few: int = 0) -> Iterator[None]:
    """Rounds of a few rows, which need retries of all kinds, and threads however few rows there are."""
    with (
        patch.multiple(search, BLOCK=block, MIN_ROWS_FOR_THREADS=few),
        patch.multiple(workers, BLOCK=block, OUTBOX_ROWS=share),
    ):
        yield


def monitors_for(
    n: int, orders: Iterable[str], *, sends_before_delivery: bool = True, at: frozenset[int] | None = None
) -> list[Monitor]:
    """The monitors of these orders for a protocol of which only this is known."""
    facts = {"sends_before_delivery": sends_before_delivery, "ordered_at": at}
    return monitors_of(type("Some", (ProtocolMachine,), facts)(n), orders)
