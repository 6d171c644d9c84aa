"""One question, put to the plain explorer and to the native engine: what their tests compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from crownless.impl import registry
from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.asking import Asked, Check
from crownless.model_check.clocks import Clocks
from crownless.model_check.engines import engine_for
from crownless.model_check.explorer import Exploration, explore
from crownless.model_check.limits import Limits
from crownless.model_check.native import search
from crownless.model_check.native.checkpoints import Checkpoint
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.observers import Observer, observers_of
from crownless.model_check.properties import Property, properties_of
from crownless.model_check.system import System
from crownless.spec.enumeration import Sends
from crownless.spec.errors import BadInput
from crownless.spec.notation import Script

#: In what explorations must agree.
COUNTS = ("states", "transitions", "depth", "terminal_states", "nodes", "graded", "broken", "reached", "blocked")


class Question(NamedTuple):
    """A check, and all that it names."""

    check: Check
    asked: Asked

    def observers(self) -> list[Observer]:
        """New ones: they number what they see."""
        n = self.asked.machine.n
        return [*observers_of(self.asked.machine, self.asked.orders), *(Clocks(n, c) for c in self.asked.clocks)]

    def properties(self) -> list[Property]:
        machine, orders, clocks = self.asked.machine, self.asked.orders, self.asked.clocks
        return properties_of(machine, orders, program=self.check.program is not None, clocks=clocks)

    def system(self) -> System:
        return System(self.asked.machine, self.asked.workload, self.asked.channel, self.observers())

    def plain(self, limits: Limits | None = None) -> Exploration:
        return explore(self.system(), self.properties(), limits)

    def search(
        self, workers: int = 1, reductions: Sequence[str] = (), *, shared: bool | None = None, force: bool = False
    ) -> NativeSearch:
        """A search of the native engine. `shared` and `reductions` are as the engine itself says, unless forced."""
        engine = engine_for(
            self.check, self.asked, self.observers(), engine="native", reductions=() if force else reductions
        )
        return NativeSearch(
            self.asked.machine,
            self.asked.workload,
            self.asked.channel_name,
            self.observers(),
            self.properties(),
            shared=engine.shared if shared is None else shared,
            reductions=reductions,
            workers=workers,
        )

    def native(
        self,
        workers: int = 1,
        reductions: Sequence[str] = (),
        *,
        shared: bool | None = None,
        force: bool = False,
        limits: Limits | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Exploration:
        made = self.search(workers, reductions, shared=shared, force=force)
        return made.explore(limits, checkpoint=checkpoint)

    def admits(self, *reductions: str) -> bool:
        """Does the engine take these reductions here?"""
        try:
            engine_for(self.check, self.asked, self.observers(), engine="native", reductions=reductions)
        except BadInput:
            return False
        return True

    def shares(self) -> bool:
        """May processes share their tables?"""
        return engine_for(self.check, self.asked, self.observers(), engine="native").shared


def question(
    protocol: str | type[ProtocolMachine],
    n: int | None = None,
    messages: int | None = None,
    channel: str | None = None,
    *,
    program: Script | None = None,
    orders: tuple[str, ...] = (),
    sends: Sends | None = None,
    self_sends: bool = False,
    parameters: Mapping[str, Setting] | None = None,
    clocks: tuple[str, ...] = (),
) -> Question:
    """A protocol by name, or a machine that is in no registry. Raises `BadInput` if that cannot be asked of it."""
    known = {} if isinstance(protocol, str) else {protocol.__name__: protocol}
    check = Check(
        protocol if isinstance(protocol, str) else protocol.__name__,
        n,
        messages,
        program,
        None if program is None else "a program",
        channel,
        orders,
        sends,
        self_sends,
        parameters or {},
        clocks,
    )
    with patch.object(registry, "PROTOCOLS", {**PROTOCOLS, **known}):
        return Question(check, Asked.by(check))


def told(found: Exploration) -> dict[str, Any]:
    """What an exploration says, without what two of them may differ in."""
    assert found.stopped is None
    return {name: getattr(found, name) for name in COUNTS} | {"actions": dict(found.actions)}


def same_verdicts(full: Exploration, reduced: Exploration, *, lengths: bool) -> bool:
    """Do they say the same of every property? `lengths`: also of how soon it breaks."""
    assert full.stopped is None
    assert reduced.stopped is None
    broken = full.broken == reduced.broken if lengths else full.broken.keys() == reduced.broken.keys()
    return broken and full.reached == reduced.reached


@contextmanager
def small_rounds(block: int = 4, share: int = 8, few: int = 0) -> Iterator[None]:
    """Rounds of a few rows, which need retries of all kinds, and threads however few rows there are."""
    with patch.multiple(search, BLOCK=block, SHARE=share, FEW=few):
        yield
