"""A program put to z3 as one formula: the verdicts are those of the explorer, and every run shown is one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import pytest
import z3
from command_line_runner import Crownless
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic_and_explored import TRIANGLE, agree, both

from crownless.impl.ops import Integers
from crownless.impl.protocols.rst import Rst
from crownless.model_check.system.request import Check, load_program
from crownless.proofs.programs.every_interleaving import judge
from crownless.proofs.programs.symbolic_entries import Branches, Number, SymbolicEntries, Truth
from crownless.proofs.programs.symbolic_run import why_not_symbolic
from crownless.runtime.errors import BadInput
from crownless.spec import notation

#: Two messages on one channel; two on two ways; and a process that learns by one message what another one carries.
FIFO = "P1: send x to P2; send y to P2\nP2: receive; receive"


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_a_violation_is_shown_by_a_shortest_run() -> None:
    judged, _ = both("unordered", TRIANGLE)
    causal = judged.found("causal")
    assert causal.verdict == "violated"
    assert causal.run is not None
    assert [(action.process, action.action, action.message) for action in causal.run.actions] == [
        ("P1", "send", "x"),
        ("P1", "send", "y"),
        ("P2", "deliver", "y"),
        ("P2", "send", "z"),
        ("P3", "deliver", "z"),
    ]


def test_local_invariants_are_left_to_the_explorer() -> None:
    judged, explored = both("rst", TRIANGLE)
    assert "deliv-equals-sent-column" in judged.not_asked
    assert "deliv-equals-sent-column" in {result.property.name for result in explored.properties}


def test_a_program_that_blocks_says_where() -> None:
    judged, explored = both("rst", "mf-program-1-selective")
    assert judged.completes == "never"
    assert judged.found("can-complete").note == "no run reaches it"
    assert judged.found("completes").note == "P3 at its statement 1, receive from P2"
    assert explored.exploration.blocked == {("P3 at its statement 1, receive from P2",)}


def test_over_fifo_channels_a_run_to_the_end_puts_packets_into_the_hold_back_queue() -> None:
    judged, _ = both("rst", "P1: send x to P2; send y to P2\nP2: receive y; receive x", "fifo")
    stuck = judged.found("completes")
    assert stuck.run is not None
    assert [action.action for action in stuck.run.actions] == ["send", "send", "receive", "receive"]


def test_where_z3_gives_up_nothing_is_claimed() -> None:
    judged = judge(Check("rst", program=notation.parse(TRIANGLE)), effort=1, attempts=2)
    assert judged.verdict == "unknown"
    assert judged.completes == "unknown"
    for name in ("causal", "completes", "can-complete"):
        found = judged.found(name)
        assert (found.gave_up, found.verdict, found.run) == (True, "unknown", None)
        assert found.note.startswith("z3 gave up: ")


# -- the scope of a request --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "why"),
    [
        ("buffer", "it has its own buffers or takes internal steps"),
        ("isis", "it keeps queues or sets, of no fixed size"),
        ("optimal", "it keeps sets"),
        ("fifo-ack", "it keeps what may be missing"),
        ("murty-garg", "it keeps what is true or not"),
        ("extra-messages", "its steps depend on a number in its state"),
    ],
)
def test_other_protocols_are_refused_with_the_reason(protocol: str, why: str) -> None:
    with pytest.raises(BadInput, match=f"{protocol} cannot run on z3 terms: {why}.*supported: unordered"):
        both(protocol, "mf-program-1")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"program": None}, "z3 checks only programs, not the free workload"),
        ({"channel": "lossy"}, "a lossy channel is not supported by z3"),
        ({"orders": ("n-n",)}, "n-n order here"),
        ({"crash": "P1"}, "only the explorer supports crashes and clocks"),
    ],
)
def test_a_request_out_of_scope_is_refused(changed: dict[str, Any], why: str) -> None:
    given = {"program": load_program("mf-program-1"), **changed}
    with pytest.raises(BadInput, match=why):
        judge(Check("rst", **given))


class BranchesLate(Rst):
    """Only a process that has sent tests whether a value is true."""

    def stamp(self, state: Any) -> Any:
        return state.sent if state.sent[0][1] == 0 else ()


def test_a_branch_is_refused_where_python_alone_would_not_see_it() -> None:
    # z3's own terms would say that different terms are not equal, and the formula would be of another protocol.
    assert not bool(z3.Int("a") == z3.Int("b"))
    assert why_not_symbolic(BranchesLate, 3) == "its steps depend on a number in its state"
    for question in (Number(z3.Int("a")), Number(0), Truth(True)):
        with pytest.raises(Branches):
            bool(question)


# -- numbers -----------------------------------------------------------------------------------------------------------

CONDITIONS, NAMES = ("c", "d"), ("x", "y")
LEAVES = st.one_of(
    st.tuples(st.just("int"), st.integers(-3, 3)),
    st.tuples(st.just("if"), st.sampled_from(CONDITIONS)),
    st.tuples(st.just("name"), st.sampled_from(NAMES)),
)
EXPRESSIONS = st.recursive(
    LEAVES, lambda some: st.tuples(st.sampled_from(["+", "-", "*", "max"]), some, some), max_leaves=6
)
COMPARISONS = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne)


def computed(expression: Any, ops: Integers | SymbolicEntries, leaf: Callable[[str], Any]) -> Any:
    """The value of an expression; `leaf` says what conditions and names stand for."""
    kind, *parts = expression
    if kind == "int":
        return parts[0]
    if kind == "name":
        return leaf(parts[0])
    if kind == "if":
        return ops.one_if(leaf(parts[0]))
    a, b = (computed(part, ops, leaf) for part in parts)
    return ops.maximum(a, b) if kind == "max" else a + b if kind == "+" else a - b if kind == "-" else a * b


@settings(derandomize=True)
@given(EXPRESSIONS, EXPRESSIONS, st.sampled_from(COMPARISONS), st.tuples(st.booleans(), st.booleans()))
def test_numbers_compute_and_compare_as_ints_do(
    a: Any, b: Any, compare: Callable[[Any, Any], Any], truth: tuple[bool, bool]
) -> None:
    values: dict[str, Any] = {**dict(zip(CONDITIONS, truth, strict=True)), "x": 2, "y": -1}
    terms = {name: Truth(z3.Bool(name)) if name in CONDITIONS else Number(z3.Int(name)) for name in values}
    expected = compare(*(computed(e, Integers(1), values.__getitem__) for e in (a, b)))
    found = compare(*(computed(e, SymbolicEntries(1), terms.__getitem__) for e in (a, b)))
    if isinstance(found, bool):
        assert found == expected  # two ints
        return
    known = [(z3.Bool(name), z3.BoolVal(values[name])) for name in CONDITIONS]
    known += [(z3.Int(name), z3.IntVal(values[name])) for name in NAMES]
    condition = found.condition if not isinstance(found.condition, bool) else z3.BoolVal(found.condition)
    assert z3.is_true(z3.simplify(z3.substitute(condition, *known))) == expected


# -- the command -------------------------------------------------------------------------------------------------------


def test_a_program_is_put_to_z3_by_the_command(crownless: Crownless) -> None:
    code, out, _ = crownless("prove", "rst", "--program", "kuper-program")
    assert (code, "completes: always" in out) == (0, True)
    assert "every interleaving, as one formula" in out
    broken = crownless("prove", "rst-column", "--program", "kuper-program", "--json")
    assert broken.code == 1
    (facts,) = broken.json["programs"]
    assert facts["verdict"] == "violated"
    (causal,) = [known for known in facts["properties"] if known["name"] == "causal"]
    assert len(causal["run"]) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("buffer --program kuper-program", "cannot run on z3 terms"),
        ("murty-garg --program kuper-program", "its proof is of an abstraction: crownless prove murty"),
        ("rst --program kuper", "there is no file or bundled program 'kuper'; did you mean 'kuper-"),
        ("rst --program kuper-program --why", "leave them out"),
        ("rst --channel fifo", "name a program"),
        ("--discover", "name a PROTOCOL"),
        ("rst --discover --why", "leave them out"),
        ("rst --discover --program kuper-program", "leave out --program"),
        ("murty-garg --discover", "supports protocols of vectors and matrices"),
        ("ses-multicast --discover", "its proof covers them: crownless prove ses-multicast"),
    ],
)
def test_a_request_out_of_scope_is_named(crownless: Crownless, arguments: str, message: str) -> None:
    code, _, err = crownless("prove", *arguments.split())
    assert (code, message in err) == (2, True), err


def test_where_z3_gives_up_more_effort_is_advised_once(crownless: Crownless) -> None:
    code, out, _ = crownless("prove", "rst", "--program", "kuper-program", "--effort", "1")
    assert (code, out.count("raise --effort")) == (3, 1)
    code, out, _ = crownless("prove", "rst", "rst-before", "--effort", "6000")
    assert (code, out.count("raise --effort")) == (3, 1)
    assert re.search(r"^rst: z3 gave up on \d+ of its 48 claims$", out, re.MULTILINE)


def test_where_no_run_delivers_anything_nothing_is_said_of_an_order() -> None:
    crossed = "P1: send x to P2\nP2: send y to P1"
    proved, explored = both("rst", crossed, "unordered")
    assert {proved.found(name).verdict for name in ("fifo", "causal", "delivers-once")} == {"unknown"}
    agree(proved, explored)
