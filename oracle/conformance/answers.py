"""The answers of nodes: each input is given once, and its answer repeated by new nodes after the searches.

A node must be a function of its inputs. So every kind of input is repeated by twenty new nodes, and each input at least
once. Running nodes get one input after another. If one may have said more than its answers, all inputs are given once
more, each to a new node, which ends after it.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle, groupby, islice

from crownless.runtime.ending import look
from crownless.runtime.printable import shortened, shown, some
from crownless.spec.result import Result

from .node import (
    FAILS_FIRST,
    FAILURES,
    VARYING,
    Answer,
    Arrival,
    History,
    Implementation,
    Input,
    NodeFailure,
    Output,
    Pending,
    Query,
    Send,
    Transmits,
    left_pending,
    name_for_nodes,
)

#: After this number of hangs, no more inputs of the type are given: each hang uses up the time limit.
MAX_HANGS = 2
#: How often the answers to inputs of each kind are repeated, by as many new nodes: a fair coin is missed by all of them
#: with a probability of 2 ** -20, which is less than `MISSED`.
ROUNDS, MISSED = 20, 1e-6
#: Why it is unknown whether answers vary before `settle` has repeated any.
NOT_REPEATED = "no answer was repeated, as crownless conform does"
#: The number of characters of an answer that are shown.
MAX_SAID = 120


class Answers:
    """The nodes' answers, by process and inputs. After a search, `settle` says whether they are reliable."""

    def __init__(
        self,
        nodes: Implementation,
        *,
        most_inputs: int | None = None,
        most_repeats: int | None = None,
        before_input: Callable[[], None] = lambda: None,
    ) -> None:
        """`most_inputs`: after this number, a node is said to get inputs without end. `most_repeats`: at most this
        number of answers is repeated. `before_input` is called before each input to a node, except repetitions; it may
        raise an exception to end a search.
        """
        self.nodes = nodes
        self._before_input = before_input
        self._most_inputs = nodes.limits.inputs if most_inputs is None else most_inputs
        self._most_repeats = nodes.most_repeats if most_repeats is None else most_repeats
        self._known: dict[Query, Answer | NodeFailure] = {}
        #: The hangs at inputs of each type.
        self._hangs: dict[type[Input], list[NodeFailure]] = {}
        #: True if a search has used answers that turned out to be invalid.
        self._must_search_again = False
        #: When and how a running node has said more than its answers, or failed as no new one does.
        self._only_new_nodes = False
        self._doubt: tuple[Query, NodeFailure] | None = None
        self._settled: set[Query] = set()
        self.repeats = Repeats()

    def __len__(self) -> int:
        """The number of different queries."""
        return len(self._known)

    def __call__(self, process: int, inputs: History) -> Answer:
        """The answer to the last of these inputs; raises `NodeFailure`."""
        query = process, inputs
        known = self._known.get(query)
        if known is None:
            known = self._ask(query)
            self._known.setdefault(query, known)
        if isinstance(known, NodeFailure):
            raise known
        return known

    @property
    def vary(self) -> bool:
        """True if a node answers at random or unasked, so that no other result is certain."""
        return any(isinstance(known, NodeFailure) and known.kind in VARYING for known in self._known.values())

    @property
    def pending(self) -> str | None:
        """The first timer, thread or task that an answer left pending, in words; None if there is none."""
        answers = (known for known in self._known.values() if not isinstance(known, NodeFailure))
        return next(filter(None, map(left_pending, answers)), None)

    def undecided(self, name: str) -> str | None:
        """Why it is unknown whether all runs keep a property, although none with these answers violates it."""
        failed = any(isinstance(known, NodeFailure) for known in self._known.values())
        if failed and name not in FAILURES:
            return FAILS_FIRST
        return self.pending or (NOT_REPEATED if name in VARYING and not self._settled else None)

    def fails(self, query: Query, failure: NodeFailure) -> None:
        """Makes this failure the answer to the query."""
        self._known[query] = failure

    def settle(self) -> bool:
        """Ends the running nodes, and repeats answers with new ones. True if searches must be repeated, since some
        answers were invalid.
        """
        if not self._only_new_nodes:
            try:
                self.nodes.finish()
            except NodeFailure as failure:
                self._rely_on_new_nodes(next(reversed(self._known)), failure)
        if self._must_search_again:
            self._must_search_again = False
            return True
        if not self._only_new_nodes:
            return self._repeats_differ()
        if self._doubt is None or any(isinstance(known, NodeFailure) for known in self._known.values()):
            return False
        (query, seen), self._doubt = self._doubt, None
        self.fails(query, seen if seen.kind in VARYING else NodeFailure("not-deterministic", difference(seen, ())))
        return True

    def _rely_on_new_nodes(self, query: Query, seen: NodeFailure) -> None:
        """From now on each query gets a new node: a running one has failed as no new one does, or has said more than
        its answers."""
        self._doubt = query, seen
        self._only_new_nodes = self._must_search_again = True
        self._known.clear()
        self._hangs.clear()
        with suppress(NodeFailure):
            self.nodes.finish()

    def differs_again(self, process: int, inputs: History) -> str | None:
        """How the answers of new nodes to these inputs differ, unless already repeated."""
        for k in range(1, len(inputs) + 1):
            query = process, inputs[:k]
            known = self._known.get(query)
            if known is None or self.repeats.of_input[query] or (isinstance(known, NodeFailure) and _is_certain(known)):
                continue
            (again,) = self.nodes.give_anew([query])
            self.repeats.note(query, known)
            if not _same(known, again):
                return difference(known, again)
        return None

    def _ask(self, query: Query) -> Answer | NodeFailure:
        process, inputs = query
        if len(inputs) > self._most_inputs:
            said = f"P{process + 1} received {self._most_inputs:,} inputs, and more are pending"
            return NodeFailure("floods", said)
        hangs = self._hangs.setdefault(type(inputs[-1]), [])
        if len(hangs) >= MAX_HANGS:
            return hangs[0]
        self._before_input()
        answer = self._of_new_node(query) if self._only_new_nodes else self._of_running_node(query)
        if isinstance(answer, NodeFailure) and answer.kind == "hangs":
            hangs.append(answer)
        return answer

    def _of_new_node(self, query: Query) -> Answer | NodeFailure:
        (answer,) = self.nodes.give_anew([query])
        return answer

    def _of_running_node(self, query: Query) -> Answer | NodeFailure:
        """The answer of the process's running node, if these inputs extend those that it has had. Repeated answers must
        be the same."""
        process, inputs = query
        had, answers = self.nodes.give(process, inputs)
        for k, answer in enumerate(answers, had + 1):
            one = process, inputs[:k]
            if isinstance(answer, NodeFailure) and self.nodes.may_shift:
                again = self._of_new_node(one)
                if not _same(answer, again):
                    self._rely_on_new_nodes(query, answer)
                    return self._of_new_node(query)
                answer = again
            known = self._known.get(one, answer)
            if isinstance(known, NodeFailure) and known.kind == "not-deterministic":
                return known
            if not _same(known, answer):
                failure = NodeFailure("not-deterministic", difference(known, answer))
                self.fails(one, failure)
                self._must_search_again = True
                return failure
        return answer

    def _repeats_differ(self) -> bool:
        """Repeats the answers since the last call with new nodes, and notes differences. `Stopped` at a limit."""
        found = False
        since = {query: answer for query, answer in self._known.items() if query not in self._settled}
        self._settled.update(since)
        self.repeats.inputs = len(self._known)
        for queries in in_rounds(since, self._most_repeats - self.repeats.all):
            for query, again in zip(queries, self.nodes.give_anew(queries, look), strict=True):
                known = self._known[query]
                self.repeats.note(query, known)
                if isinstance(again, NodeFailure) and again.kind == "speaks-unasked":
                    self._rely_on_new_nodes(query, again)
                    self._must_search_again = False
                    return True
                if not _same(known, again) and not (isinstance(known, NodeFailure) and _is_certain(known)):
                    self.fails(query, NodeFailure("not-deterministic", difference(known, again)))
                    found = True
        return found


def _is_certain(failure: NodeFailure) -> bool:
    """True of failures that need not recur: unasked output comes at any time, and endless packets are not replayed."""
    return failure.kind in (*VARYING, "floods")


def _same(one: Answer | NodeFailure, other: Answer | NodeFailure) -> bool:
    if isinstance(one, NodeFailure) or isinstance(other, NodeFailure):
        return isinstance(one, NodeFailure) and isinstance(other, NodeFailure) and one.kind == other.kind
    return one == other or _by_receiver(one) == _by_receiver(other)


def _by_receiver(answer: Answer) -> list[Output]:
    """The outputs, where packets that follow each other are sorted by receiver: nothing depends on their order."""
    outputs: list[Output] = []
    for _, group in groupby(answer, lambda output: isinstance(output, Transmits)):
        outputs += sorted(group, key=lambda output: output.to if isinstance(output, Transmits) else 0)
    return outputs


def difference(first: Answer | NodeFailure, then: Answer | NodeFailure) -> str:
    """The difference between two answers to the same inputs, in words."""
    return f"after the same inputs it gave first {_in_words(first)}, and then {_in_words(then)}"


def _in_words(answer: Answer | NodeFailure) -> str:
    if isinstance(answer, NodeFailure):
        return f"{answer.kind}: {answer.said}"
    return shortened("; ".join(map(_output_in_words, answer)), MAX_SAID) or "nothing"


def _output_in_words(output: Output) -> str:
    if isinstance(output, Transmits):
        return f"a packet to P{shown(output.to + 1)}: {shown(output.body)}"
    if isinstance(output, Pending):
        return output.what
    return f"{type(output).__name__.lower()} {shown(output.message, str)}"


# -- repetitions -------------------------------------------------------------------------------------------------------


def in_rounds(known: Mapping[Query, Answer | NodeFailure], most: int) -> Iterator[list[Query]]:
    """The queries to repeat, at most `most`: in each of the first rounds one of each kind, then all others. Failures
    are repeated once per kind, since each ends its node, and a hang uses up the time limit.
    """
    kinds: dict[Hashable, list[Query]] = {}
    for query, answer in known.items():
        if not isinstance(answer, NodeFailure) or answer.kind in ("node-fails", "invents", "not-understood"):
            kinds.setdefault(kind_of(query, answer), []).append(query)
    works = [queries for kind, queries in kinds.items() if not isinstance(kind, str)]
    for number in range(ROUNDS):
        chosen = kinds.values() if number == 0 else works
        again = [next(islice(cycle(queries), number, None)) for queries in chosen][:most]
        yield again
        most -= len(again)
    yield [query for queries in works for query in queries[ROUNDS:]][:most]


def kind_of(query: Query, answer: Answer | NodeFailure) -> Hashable:
    """A key equal for inputs that differ only in names of processes and messages, and in packet contents: their
    history and outputs, with processes and messages numbered by appearance. For failures, the kind of failure.
    """
    if isinstance(answer, NodeFailure):
        return answer.kind
    process, inputs = query
    numbers: dict[Hashable, int] = {process: 0}

    def number(name: Hashable) -> int:
        return numbers.setdefault(name, len(numbers))

    parts: list[Hashable] = []
    for one in inputs:
        parts.append(type(one).__name__)
        sends = [one.message] if isinstance(one, Send) else []
        sends += [] if one.reply is None else [one.reply]
        parts += [number(name) for each in sends for name in (*each.receivers, name_for_nodes(each))]
        parts += [number(one.source)] if isinstance(one, Arrival) else []
    for output in answer:
        parts += [type(output).__name__, number(_named_by(output))]
    return tuple(parts)


def _named_by(output: Output) -> Hashable:
    """The process, message or code that an output names."""
    if isinstance(output, Transmits):
        return output.to
    return output.what if isinstance(output, Pending) else output.message


@dataclass
class Repeats(Result):
    """How often answers were repeated by new nodes, and compared. `inputs`: the number of different inputs."""

    json_keys = "answers=all least_of_input kinds least_of_kind excluded_probability=excluded"

    inputs: int = 0
    of_input: Counter[Query] = field(default_factory=Counter)
    of_kind: Counter[Hashable] = field(default_factory=Counter)
    #: Of sends, arrivals, and so on.
    of_type: Counter[type] = field(default_factory=Counter)

    def note(self, query: Query, answer: Answer | NodeFailure) -> None:
        """One answer was repeated."""
        self.of_input[query] += 1
        self.of_kind[kind_of(query, answer)] += 1
        self.of_type[type(query[1][-1])] += 1

    @property
    def brief(self) -> str:
        """How many were repeated."""
        return some(self.all, "repeated answer")

    @property
    def kinds(self) -> int:
        """The number of kinds of inputs."""
        return len(self.of_kind)

    @property
    def all(self) -> int:
        """The number of repeated answers."""
        return self.of_input.total()

    @property
    def least_of_input(self) -> int:
        """The least number of repetitions of an input."""
        return min(self.of_input.values()) if 0 < self.inputs == len(self.of_input) else 0

    @property
    def least_of_kind(self) -> int:
        """The same for kinds of inputs, without failures."""
        return min((number for kind, number in self.of_kind.items() if not isinstance(kind, str)), default=0)

    @property
    def excluded(self) -> float:
        """The least p such that a node that answers differently with probability p at every input of one type is missed
        with a probability of at most one in a million.
        """
        return 1 - MISSED ** (1 / min(self.of_type.values())) if self.of_type else 1.0

    def __str__(self) -> str:
        least = self.least_of_input
        each = f"each at least {'once' if least == 1 else f'{least} times'}" if least else "a sample"
        if self.least_of_kind >= ROUNDS:
            each += f", each of {some(len(self.of_kind), 'kind')} of inputs at least {self.least_of_kind} times"
        repeated = f"{some(self.all, 'answer')} repeated by new nodes: {each}"
        if self.excluded > 0.5:
            return repeated
        return (
            f"{repeated}; this would catch nondeterminism of {max(self.excluded * 100, 0.1):.1f} % or more per input "
            "(error < 1e-6)"
        )
