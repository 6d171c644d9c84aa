"""Queries to nodes, each put once, and repeated with new nodes at the end: a node must be a function of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress

from crownless.spec.printable import shown, some

from .node import (
    Answer,
    Delivers,
    History,
    Implementation,
    Input,
    Load,
    NodeFailure,
    Output,
    Query,
    Transmits,
    outcome,
)
from .repeats import Repeats, in_rounds

#: After so many hangs at inputs of a kind others of that kind are not put: each takes all the time there is.
MOST_HANGS = 2
#: So many first times that a state is reached by other inputs, and then one in so many, its answers are compared.
FIRST_STATES, STATES_EVERY = 500, 8
DOES_NOT_SAY_ALL = "its state does not say all: taken on from there, and then from its first input, "
#: Failures that need not happen again to be certain: the node was seen to answer otherwise, or unasked.
CERTAIN = ("not-deterministic", "speaks-unasked")


class Queries:
    """The query of a `NodeMachine`. Once its searches have ended, `settle` says whether their answers can be relied on.

    Nodes that run are given one input after another. Where one of them may have said more than its answers, all
    queries are put once more, each to a new node, which ends after its answer.
    """

    def __init__(
        self,
        implementation: Implementation,
        *,
        with_states: bool = True,
        only_new_nodes: bool = False,
        most_inputs: int | None = None,
        most_repeats: int | None = None,
        before_input: Callable[[], None] = lambda: None,
    ) -> None:
        """`with_states`: nodes that offer their states are taken on from there, not from their first inputs.
        `only_new_nodes`: each query is put to one of its own. `most_inputs`: after so many a node is said to get them
        without end. `most_repeats`: at most so many answers are repeated. `before_input` is called before a node is
        given an input, but for those that confirm a violation; it may raise `Stopped`.
        """
        self.implementation = implementation
        self._before_input = before_input
        self._with_states = with_states
        self._only_new_nodes = only_new_nodes
        self._most_inputs = implementation.limits.inputs if most_inputs is None else most_inputs
        self._most_repeats = implementation.most_repeats if most_repeats is None else most_repeats
        #: All inputs by which a state came about last: nodes that had others are to go on as these do.
        self._led_to: dict[tuple[int, Hashable], History] = {}
        self._known: dict[Query, Answer | NodeFailure] = {}
        #: The hangs at inputs of each kind.
        self._hangs: dict[type[Input], list[NodeFailure]] = {}
        #: The inputs that were answered by nodes that had taken on a state.
        self._answered_from: dict[tuple[int, Hashable], list[Input]] = {}
        self._reached_again = 0
        self._confirmed: set[Query] = set()
        #: The failure of a running node that no new one has shown so far, and the query at which it was seen.
        self._doubt: tuple[Query, NodeFailure] | None = None
        #: True if a search has used answers that are not relied on any more.
        self._must_search_again = False
        #: The repetitions of the answers by new nodes; and the queries that were there when some were last repeated.
        self.repeats = Repeats()
        self._settled: set[Query] = set()

    def __len__(self) -> int:
        """The number of different queries."""
        return len(self._known)

    def __call__(self, process: int, history: History, given: Input) -> Answer:
        key = (process, history, given)
        known = self._known.get(key)
        if known is None:
            found = self._asked(key)
            known = self._known[key] = found
        if isinstance(known, NodeFailure):
            raise known
        return known

    def all_inputs(self, process: int, history: History) -> History:
        """The history with all inputs by which its state, if it begins with one, came about last."""
        if history and isinstance(history[0], Load):
            led_to = self._led_to.get((process, history[0].state))
            if led_to is None:
                raise NodeFailure("not-deterministic", "its state is equal to itself at one time, and not at another")
            return (*led_to, *history[1:])
        return history

    @property
    def uses_states(self) -> bool:
        """True if a node has offered its state."""
        return bool(self._led_to)

    # -- whether the answers can be relied on --------------------------------------------------------------------------

    def settle(self) -> bool:
        """Ends the nodes that run, and repeats answers with new ones. True if searches must be made again, since some
        answers were none.
        """
        if not self._only_new_nodes:
            try:
                self.implementation.settle()
            except NodeFailure as failure:
                self._rely_on_new_nodes_only(next(reversed(self._known)), failure)
        if self._must_search_again:
            self._must_search_again = False
            return True
        if not self._only_new_nodes:
            return self._repeats_differ()
        fails = any(isinstance(answer, NodeFailure) and answer.kind in CERTAIN for answer in self._known.values())
        if self._doubt is None or fails:
            return False
        (query, seen), self._doubt = self._doubt, None
        if seen.kind not in CERTAIN:
            seen = NodeFailure("not-deterministic", differs(seen, Answer()))
        self.fails(*query, seen)
        return True

    def _rely_on_new_nodes_only(self, at: Query, failure: NodeFailure) -> None:
        """From now on: a running node has failed as no new one does, or has said more than answers at some time."""
        self._doubt = self._doubt or (at, failure)
        self._only_new_nodes = self._must_search_again = True
        for known in (self._known, self._led_to, self._hangs, self._answered_from, self._confirmed):
            known.clear()
        with suppress(NodeFailure):
            self.implementation.settle()

    def _repeats_differ(self) -> bool:
        """Repeats the answers since it was last called with new nodes, and notes what differs."""
        found = False
        since = {key: answer for key, answer in self._known.items() if key not in self._settled}
        self._settled.update(since)
        self.repeats.inputs = len(self._known)
        for keys in in_rounds(since, self._most_repeats - self.repeats.all):
            queries = [(process, self.all_inputs(process, history), given) for process, history, given in keys]
            for key, query, again in zip(keys, queries, self.implementation.answers_anew(queries), strict=True):
                self.repeats.note(key, self._known[key])
                if isinstance(again, NodeFailure) and again.kind == "speaks-unasked":
                    self._rely_on_new_nodes_only(key, again)
                    self._must_search_again = False
                    return True
                if isinstance(again, NodeFailure) and again.query in self._known:
                    key = again.query
                known = _of_both(self._known[key], again, from_a_state=query[1] is not key[1])
                if known is not self._known[key]:
                    self._known[key], found = known, True
        return found

    def fails(self, process: int, history: History, given: Input, failure: NodeFailure) -> None:
        """From now on this is the answer to that query: what comes of it is a failure."""
        self._known[process, history, given] = failure

    def _asked(self, key: Query) -> Answer | NodeFailure:
        process, history, given = key
        most = self._most_inputs
        from_the_first = self.all_inputs(process, history)
        if len(from_the_first) >= most:
            return NodeFailure("floods", f"P{process + 1} has had {most:,} inputs, and there are still more for it")
        hangs = self._hangs.setdefault(type(given), [])
        if len(hangs) >= MOST_HANGS:
            return hangs[0]
        answer = self._answer(process, history, from_the_first, given)
        if isinstance(answer, NodeFailure) and self._is_doubtful(answer):
            again = outcome(self.implementation.answer_anew, (process, from_the_first, given))
            if not _are_the_same(answer, again):
                self._rely_on_new_nodes_only(key, answer)
            answer = again
        if len(history) == 1 and isinstance(history[0], Load):
            self._answered_from.setdefault((process, history[0].state), []).append(given)
        if isinstance(answer, Answer) and answer.state is not None:
            if not self._with_states:
                answer = Answer(answer.outputs)
            elif _all_replied(given, answer):
                failure = self._reached(process, answer.state, (*from_the_first, given))
                if failure is not None:
                    return failure
        if isinstance(answer, NodeFailure):
            if answer.kind == "hangs":
                hangs.append(answer)
            if answer.query is not None and answer.query != key:
                self._known[answer.query], self._must_search_again = answer, True
        return answer

    def _is_doubtful(self, failure: NodeFailure) -> bool:
        """True if it may be due to answers to other inputs."""
        trusted = self._only_new_nodes or self.implementation.trusts_running_nodes
        return not trusted and failure.kind != "not-deterministic"

    def _answer(self, process: int, history: History, from_the_first: History, given: Input) -> Answer | NodeFailure:
        self._before_input()
        if self._only_new_nodes:
            return outcome(self.implementation.answer_anew, (process, from_the_first, given))
        had = history if self.implementation.takes_on_states else from_the_first
        return outcome(self.implementation.answer, (process, had, given))

    def _reached(self, process: int, state: Hashable, inputs: History) -> NodeFailure | None:
        """Notes the inputs that lead to a state. A node that has had these must answer as those did that had others and
        the same state: that is looked at the first times, and then now and then.
        """
        at = (process, state)
        known, self._led_to[at] = self._led_to.get(at), inputs
        if known is None or known == inputs:
            return None
        self._reached_again += 1
        if self._reached_again > FIRST_STATES and self._reached_again % STATES_EVERY:
            return None
        for given in self._answered_from.get(at, ()):
            one = self._known.get((process, (Load(state),), given))
            other = self._answer(process, inputs, inputs, given)
            if one is not None and not _are_the_same(one, other):
                return NodeFailure("not-deterministic", f"{DOES_NOT_SAY_ALL}{differs(one, other)}")
        return None

    def place_of(self, process: int, history: History, given: Input, output: int) -> str | None:
        """The line of the user's own code by which the node gives that output; None if that is not known."""
        return self.implementation.place_of(process, self.all_inputs(process, history), given, output)

    def confirmed(self, process: int, history: History) -> NodeFailure | None:
        """What differs where nodes that are made anew are given this history again; None: nothing."""
        for k, given in enumerate(history):
            key = (process, history[:k], given)
            known = self._known.get(key)
            if known is None or _is_certain(known) or key in self._confirmed:
                continue
            self._confirmed.add(key)
            again = outcome(self.implementation.answer_anew, key)
            if not _are_the_same(known, again):
                return NodeFailure("not-deterministic", differs(known, again))
        return None


def _all_replied(given: Input, answer: Answer) -> bool:
    """True if no reply is left for a later delivery, of which the node's state knows nothing."""
    return len(given.replies) <= sum(isinstance(output, Delivers) for output in answer.outputs)


def _of_both(one: Answer | NodeFailure, other: Answer | NodeFailure, *, from_a_state: bool) -> Answer | NodeFailure:
    """What two nodes that had the same inputs show of the implementation; or one that had a state, and one that had the
    inputs that led to it.
    """
    if _are_the_same(one, other):
        return one
    for either in (one, other):
        if isinstance(either, NodeFailure) and _is_certain(either):
            return either
    state = DOES_NOT_SAY_ALL if from_a_state else ""
    return NodeFailure("not-deterministic", state + differs(one, other))


def _is_certain(answer: Answer | NodeFailure) -> bool:
    """True of failures that need not happen again: a node that speaks unasked does so when it likes, and nothing is
    requested again where packets follow each other without end."""
    return isinstance(answer, NodeFailure) and answer.kind in (*CERTAIN, "floods")


def _are_the_same(one: Answer | NodeFailure, other: Answer | NodeFailure) -> bool:
    if isinstance(one, NodeFailure) or isinstance(other, NodeFailure):
        return isinstance(one, NodeFailure) and isinstance(other, NodeFailure) and one.kind == other.kind
    return one.outputs == other.outputs


def differs(first: Answer | NodeFailure, then: Answer | NodeFailure) -> str:
    """The difference between two answers to the same inputs, in words."""
    if isinstance(first, NodeFailure) or isinstance(then, NodeFailure):
        said = [f"{one.kind}: {one.said}" if isinstance(one, NodeFailure) else "an answer" for one in (first, then)]
        return f"after the same inputs it gave first {said[0]}, and then {said[1]}"
    for k, (one, other) in enumerate(zip(first.outputs, then.outputs, strict=False), 1):
        if one != other:
            return f"after the same inputs its output {k} was first {_said(one)} and then {_said(other)}"
    more, fewer = sorted((first.outputs, then.outputs), key=len, reverse=True)
    counts = f"{some(len(first.outputs), 'output')} and then {len(then.outputs)}"
    return f"after the same inputs it gave first {counts}; in one alone is {_said(more[len(fewer)])}"


def _said(output: Output) -> str:
    """An output in words."""
    if isinstance(output, Transmits):
        return f"a packet to P{shown(output.to + 1)}: {shown(output.body)}"
    return f"{output.name} {shown(output.message, str)}"
