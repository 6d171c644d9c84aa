"""Nodes that are programs, whatever is spoken with them: one that runs goes on, others begin from their first input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from crownless.spec.printable import printable

from .guardian import Guardian
from .node import Answer, History, Implementation, Input, Load, NodeFailure, NodeLimits
from .queries import differs
from .running_program import RunningProgram

Program = TypeVar("Program", bound=RunningProgram)


class Programs(Implementation, Generic[Program]):
    """Nodes started by a command. `n` processes; `limits` on each answer. `begin_anew`: a running program can."""

    #: Starting a program takes a while; what is given again to a running one is compared in any case.
    most_repeats = 50
    begin_anew = trusts_running_nodes = takes_on_states = True

    def __init__(self, command: Sequence[str], n: int, limits: NodeLimits | None = None) -> None:
        self.name = printable(" ".join(command))
        self.n = n
        self.limits = limits or NodeLimits()
        self._command = list(command)
        self._guardian = Guardian()
        self._running: dict[int, Program] = {}
        #: The inputs that each running node has had since it began.
        self._had: dict[int, History] = {}
        #: The answers to every input so far, which each replay must give again.
        self._known: dict[tuple[int, History], Answer] = {}

    @property
    def takes_replies(self) -> bool:
        return False

    @property
    def best_effort(self) -> str | None:
        return None

    def answer(self, process: int, history: History, given: Input) -> Answer:
        had = self._had.pop(process, None)
        if had is not None and history[: len(had)] != had:
            had = None
        if had is None and not self.begin_anew:
            self._end(process)
        if process not in self._running:
            self._running[process] = self._started(process)
            had = None
        node = self._running[process]
        try:
            answer = self._asked(node, process, had, history, given)
        except BaseException:  # in the middle of an answer, also where Ctrl-C ended it
            self._end(process)
            raise
        if not given.replies:  # of which some may be left
            self._had[process] = (*history, given) if answer.state is None else (Load(answer.state),)
        return answer

    def close(self) -> None:
        for process in list(self._running):
            self._end(process)
        self._guardian.close()

    def _end(self, process: int) -> None:
        """Ends what runs at a process, if anything does."""
        if (node := self._running.pop(process, None)) is not None:
            node.end()

    @abstractmethod
    def _started(self, process: int) -> Program:
        """A program that was just started."""

    def _check_end(self, node: Program) -> None:
        """Raises `NodeFailure` if a running program has said more than its answers."""

    @abstractmethod
    def _exchange(self, node: Program, process: int, given: Sequence[Input], *, anew: bool) -> list[Answer]:
        """The answers to these inputs; `anew`: they are its first ones. Raises `NodeFailure`."""

    def _asked(
        self,
        node: Program,
        process: int,
        had: History | None,
        history: History,
        given: Input,
    ) -> Answer:
        """The answer to an input after this history, of which the node has had this beginning; None: it begins anew."""
        start = 0 if had is None else len(had)
        inputs = (*history[start:], given)
        answers = self._exchange(node, process, inputs, anew=had is None)
        now = history[:start]
        for one, answer in zip(inputs, answers, strict=True):
            now = (*now, one)
            if isinstance(one, Load) and answer.outputs:
                raise NodeFailure("speaks-unasked", f"answers `load` with more than 'ok': {differs(Answer(), answer)}")
            known = self._known.setdefault((process, now), answer)
            if known.outputs != answer.outputs:
                self._check_end(node)
                raise NodeFailure("not-deterministic", differs(known, answer), (process, now[:-1], one))
        return answers[-1]


Driver = TypeVar("Driver", bound="Programs[Any]")


@contextmanager
def closing(implementation: Driver) -> Iterator[Driver]:
    """Within it the programs run."""
    try:
        yield implementation
    finally:
        implementation.close()
