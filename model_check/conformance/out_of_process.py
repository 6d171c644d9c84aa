"""Nodes that are programs which speak lines: one process a node, which forgets everything at `init`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from re import Pattern

from crownless.spec.enumeration import Sends as KindOfSends
from crownless.spec.errors import BadInput

from .line_forms import NUMBERS, REPLIES, Form, FormName, Given, JsonForm, PlainForm
from .maelstrom_form import MaelstromForm
from .node import (
    Answer,
    Delivers,
    History,
    Input,
    NodeFailure,
    NodeLimits,
    Query,
    Queues,
    Sends,
    Transmits,
    name_for_nodes,
    outcome,
)
from .node_process import NodeProcess
from .programs import Programs, closing

__all__ = ["OutOfProcess", "closing"]


class OutOfProcess(Programs[NodeProcess]):
    """Nodes started by a command. `n` processes; `limits` on each answer."""

    trusts_running_nodes = False

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
        sends: KindOfSends = "unicast",
    ) -> None:
        """`sends`: in which way applications send, for forms in which that makes a difference."""
        super().__init__(command, n, limits)
        self._form = _form_named(form, ignored, sends)
        self.begin_anew = self._form.resets
        self.most_repeats = 50_000 if self._form.resets else 500
        self._prefix = prefix
        self._environment = environment
        #: The optional parts of the protocol that the program announces; None: it was not started yet.
        self._takes: frozenset[str] | None = None
        #: Set if the program printed more than its answer to the first `init`; later inputs cannot show that.
        self._unasked_at_init: NodeFailure | None = None
        #: False once it went on after the end of its input.
        self._ends_with_input = True
        self._numbers = count(1)

    @property
    def takes_replies(self) -> bool:
        self._note_what_it_takes()
        return REPLIES in (self._takes or ())

    @property
    def best_effort(self) -> str | None:
        if self._ends_with_input or self._form.numbers or not self._form.resets:
            return None
        return "best effort: the program goes on after the end of its input, and its answers have no numbers"

    def answer_anew(self, process: int, history: History, given: Input) -> Answer:
        (answer,) = self.answers_anew([(process, history, given)])
        if isinstance(answer, NodeFailure):
            raise answer
        return answer

    def answers_anew(self, queries: Sequence[Query]) -> list[Answer | NodeFailure]:
        answers: list[Answer | NodeFailure] = []
        node: NodeProcess | None = None
        try:
            for number, query in enumerate(queries, 1):
                node = node or self._started(query[0])
                answer = outcome(partial(self._of_new_node, node, last=number == len(queries)), query)
                if isinstance(answer, NodeFailure) or not self.begin_anew:
                    node.end()
                    node = None
                answers.append(answer)
        finally:
            if node is not None:
                node.end()
        return answers

    def settle(self) -> None:
        running, self._running = self._running, {}
        self._had.clear()
        self._known.clear()
        try:
            for process in list(running):
                self._check_end(running.pop(process))
        finally:
            for node in running.values():
                node.end()

    def check_start(self) -> None:
        """Raises `BadInput` if the program ends before it has answered its first `init`."""
        try:
            self._begin()
        except NodeFailure as failure:
            if failure.kind == "node-fails":
                hint = f"run it by hand: {self._form.end}, the first one too"
                raise BadInput(f"'{self.name}' does not start: {failure.said}", hint=hint) from None

    def _note_what_it_takes(self) -> None:
        """Starts the program, unless one was started, to see what it announces."""
        if self._takes is None:
            with suppress(NodeFailure):  # which shows at the first input, too
                self._begin()

    def _begin(self) -> None:
        self._takes = frozenset()
        node = self._new_program(None)
        try:
            node.exchange([Given(node.form.init(0, self.n), is_init=True)])
            self._takes = node.takes or frozenset()
            self._form.numbers = NUMBERS in self._takes
            self._check_end(node)
        except NodeFailure as failure:
            self._unasked_at_init = failure if failure.kind == "speaks-unasked" else None
            raise
        finally:
            node.end()

    def _new_program(self, takes: frozenset[str] | None) -> NodeProcess:
        form = self._form.of_one_node()
        return NodeProcess(self._command, form, self.limits, self._guardian, self._prefix, self._environment, takes)

    def _started(self, process: int) -> NodeProcess:
        self._note_what_it_takes()
        return self._new_program(self._takes)

    def _of_new_node(self, node: NodeProcess, process: int, history: History, given: Input, *, last: bool) -> Answer:
        """The answer of a node that begins anew, and ends with its input if this is the last one."""
        answer = self._asked(node, process, None, history, given)
        if last or not self.begin_anew:
            self._check_end(node)
        return answer

    def _check_end(self, node: NodeProcess) -> None:
        ends = node.finish(self.limits.seconds if self._ends_with_input else 0.0)
        self._ends_with_input = self._ends_with_input and ends

    def _exchange(self, node: NodeProcess, process: int, given: Sequence[Input], *, anew: bool) -> list[Answer]:
        if self._unasked_at_init is not None:
            raise self._unasked_at_init
        inputs = [Given(node.form.init(process, self.n), is_init=True)] if anew else []
        for one in given:
            number = next(self._numbers) if node.form.numbers else None
            inputs.append(Given(node.form.given(one, number), number))
        answers = node.exchange(inputs)
        if anew and answers.pop(0).outputs:
            raise NodeFailure("speaks-unasked", f"answers `init` with more than '{self._form.begins_anew}'")
        for one, answer in zip(given, answers, strict=True):
            _check_replies(one, answer)
        return answers


def _check_replies(given: Input, answer: Answer) -> None:
    """Raises if a node that takes replies delivers a message, and does nothing for the reply then."""
    replies = list(given.replies)
    for number, output in enumerate(answer.outputs):
        if replies and isinstance(output, Delivers):
            reply = replies.pop(0)
            name = name_for_nodes(reply)
            if not any(
                isinstance(one, Transmits) or (isinstance(one, Queues | Sends | Delivers) and one.message == name)
                for one in answer.outputs[number + 1 :]
            ):
                hint = f"say `queued {name}` if it is sent later, or `ok` to `init`, without `{REPLIES}`"
                said = f"takes the reply {name}, and transmits nothing after it delivers {output.message}; {hint}"
                raise NodeFailure("not-understood", said)


def _form_named(name: FormName, ignored: Pattern[str] | None = None, sends: KindOfSends = "unicast") -> Form:
    """The form of that name. `sends`: in which way applications send."""
    if name == "maelstrom":
        return MaelstromForm(ignored, sends)
    return JsonForm(ignored) if name == "json" else PlainForm(ignored)
