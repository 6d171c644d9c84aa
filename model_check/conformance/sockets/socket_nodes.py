"""Nodes that are programs which own their sockets: one program a process, started again for another history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from re import Pattern

from crownless.model_check.conformance.node import Answer, History, Input, NodeFailure, NodeLimits
from crownless.model_check.conformance.programs import Programs
from crownless.spec.errors import BadInput
from crownless.spec.printable import some

from .proxies import OfDatagrams, OfStreams, Proxies
from .quiet import Ending
from .socket_program import SocketProgram
from .speaking import Speaking, check_command, filled_in

#: So often another port is tried where a program ends before it listens.
PORTS = 3


class SocketNodes(Programs[SocketProgram]):
    """Nodes started by a command in which places stand for addresses. `n` processes; `limits` on each answer."""

    begin_anew = False

    def __init__(
        self,
        command: Sequence[str],
        speaking: Speaking,
        n: int,
        limits: NodeLimits | None = None,
        *,
        ignored: Pattern[str] | None = None,
    ) -> None:
        check_command(command)
        super().__init__(command, n, limits)
        self._speaking = speaking
        self._ignored = ignored
        self._around: list[Proxies] = []
        for _ in range(n):
            self._around.append(self._proxies())
        #: How the answers of programs ended that have ended, and whether any of them left a timer aside.
        self._endings: Counter[Ending] = Counter()
        self._later = False

    def _proxies(self) -> Proxies:
        if self._speaking.kind == "udp":
            return OfDatagrams(self.n, self._ignored)
        return OfStreams(self.n, self._speaking.frame, self.limits.line, self.limits.seconds, self._ignored)

    @property
    def best_effort(self) -> str:
        """How far to trust the ends of answers."""
        endings = self._endings + sum((Counter(node.endings) for node in self._running.values()), Counter())
        later = self._later or any(node.later for node in self._running.values())
        parts = ["best effort: the end of each answer is read from the operating system"]
        if by_time := endings["by time"]:
            parts.append(f"{some(by_time, 'answer')} of {endings.total():,} ended while a timer of the node ran")
        if later:
            parts.append(f"timers of more than {self._speaking.settle:g} s were left aside")
        return ", ".join(parts)

    def answer_anew(self, process: int, history: History, given: Input) -> Answer:
        self._had.pop(process, None)
        self._end(process)
        return self.answer(process, history, given)

    def check_start(self) -> None:
        """Raises `BadInput` if a program does not start, or does not listen at its address."""
        for process in range(self.n):
            try:
                self._running[process] = self._started(process)
            except NodeFailure as failure:
                hint = "run it by hand, with addresses of your own"
                raise BadInput(f"'{self.name}' does not start: {failure.said}", hint=hint) from None
            self._had[process] = ()

    def close(self) -> None:
        super().close()
        for each in self._around:
            each.close()

    def _end(self, process: int) -> None:
        if (node := self._running.get(process)) is not None:
            self._endings += Counter(node.endings)
            self._later = self._later or node.later
        super()._end(process)

    def _started(self, process: int) -> SocketProgram:
        around = self._around[process]
        for _ in range(PORTS - 1):
            with suppress(NodeFailure):
                return self._started_at(process, around)
            around.port = around.free_port()
        return self._started_at(process, around)

    def _started_at(self, process: int, around: Proxies) -> SocketProgram:
        command = filled_in(self._command, process, self.n, around.port, around.ports)
        node = SocketProgram(command, self._speaking, around, self.limits, self._guardian, self._ignored)
        try:
            node.start()
        except BaseException:
            node.end()
            raise
        return node

    def _exchange(self, node: SocketProgram, process: int, given: Sequence[Input], *, anew: bool) -> list[Answer]:
        return node.exchange(given)
