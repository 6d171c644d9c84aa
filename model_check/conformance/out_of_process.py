"""Nodes that are programs which speak lines: one process a node, which forgets everything at `init`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from re import Pattern

from crownless.spec.enumeration import Sends
from crownless.spec.errors import BadInput

from .forms import form_named
from .line_forms import FormName
from .node import Answer, History, Input, NodeFailure
from .node_limits import NodeLimits
from .node_process import NodeProcess
from .programs import Programs, closing

#: Seconds for which a node that was made anew must say nothing after its answer.
SILENT_FOR = 0.002

__all__ = ["OutOfProcess", "closing"]


class OutOfProcess(Programs[NodeProcess]):
    """Nodes started by a command. `n` processes; `limits` on each answer."""

    def __init__(
        self,
        command: Sequence[str],
        n: int,
        limits: NodeLimits | None = None,
        *,
        form: FormName = "plain",
        prefix: str = "",
        environment: Mapping[str, str] | None = None,
        ignored: Pattern[str] | None = None,
        sends: Sends = "unicast",
    ) -> None:
        """`sends`: in which way applications send, for forms in which that makes a difference."""
        super().__init__(command, n, limits)
        self._form = form_named(form, ignored, sends)
        self.begin_anew = self._form.resets
        self._prefix = prefix
        self._environment = environment

    def answer_anew(self, process: int, history: History, given: Input) -> Answer:
        node = self._started(process)
        try:
            return self._asked(node, process, None, history, given, SILENT_FOR)
        finally:
            node.end()

    def check_start(self) -> None:
        """Raises `BadInput` if the program ends before it has answered its first `init`."""
        node = self._started(0)
        first = node.form.init(0, self.n)
        try:
            node.exchange([first])
        except NodeFailure as failure:
            if failure.kind == "node-fails":
                hint = f"run it by hand: {self._form.end}, the first one too"
                raise BadInput(f"'{self.name}' does not start: {failure.said}", hint=hint) from None
        finally:
            node.end()

    def _started(self, process: int) -> NodeProcess:
        form = self._form.of_one_node()
        return NodeProcess(self._command, form, self.limits, self._guardian, self._prefix, self._environment)

    def _exchange(
        self, node: NodeProcess, process: int, given: Sequence[Input], *, anew: bool, silent_for: float
    ) -> list[Answer]:
        inputs = [node.form.init(process, self.n)] if anew else []
        inputs += map(node.form.given, given)
        answers = node.exchange(inputs, silent_for)
        if anew and answers.pop(0).outputs:
            raise NodeFailure("speaks-unasked", f"answers `init` with more than '{self._form.begins_anew}'")
        return answers
