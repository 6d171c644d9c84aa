"""A protocol's own machine, run for any number of processes on symbols, in a part of Python without branches.

A `Symbol` refuses operations that z3 cannot see, but not every operation reaches it: a loop counter, the length of a
list and ``is`` would give answers in the proof that differ from those of the runs. So the code is read
(`machine_code`):

- there are no branches, except on None; no loops, except comprehensions without a condition;
- only vectors and matrices are subscripted, and no list is compared: both depend on its length;
- calls go to `self.ops`, other methods and functions, and named tuples; never to Python's built-ins.

Hence a transition has one path, the same in every run. It can build lists from the receivers of a message only entry by
entry; `any_multicast` shows that the results for one, two and three receivers hold for any number.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.model_check.system.machine_calls import Call
from crownless.spec.computation import Message

from .machine_code import Reader, asks_for_none, attribute, compiled_anew
from .refusals import HINT, Refused, refuse
from .symbols import AnyNumber, AnyReceivers, Symbol, SymbolicOps, in_terms, is_truth, symbolic
from .terms import Terms

_LOOP = "go through receivers and packets in a list comprehension without a condition"
_CONDITIONS = "combine conditions with self.ops.all_of and self.ops.one_if"
_FIXED = "a transition that is proved depends on its arguments alone"


def _attribute(where: str, of: Any, name: str) -> Any:
    try:
        return attribute(of, name)
    except LookupError as error:
        raise Refused(f"{error} is not part of what can be proved", hint=_FIXED, where=where) from None


def _compare(where: str, comparison: str, one: Any, other: Any) -> Any:
    if isinstance(one, list | tuple) or isinstance(other, list | tuple):
        raise Refused("compares lists or tuples", hint="compare numbers, processes and vectors", where=where)
    return getattr(operator, comparison)(one, other)


def _subscript(where: str, of: Any, at: Any) -> Any:
    if not isinstance(of, Symbol | AnyReceivers):
        hint = "keep what differs in vectors and matrices, or in named tuples"
        raise Refused("reads a list or tuple by place", hint=hint, where=where)
    return of[at]


_OPERATORS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


class BranchFree(Reader):
    """Refuses whatever could give a transition a second path."""

    allowed = (
        *(ast.FunctionDef, ast.Return, ast.Assign, ast.AnnAssign, ast.Assert, ast.If, ast.Pass, ast.Expr),
        *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Lambda, ast.ListComp, ast.comprehension),
        *(ast.Tuple, ast.List, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.IfExp),
        *(ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Is, ast.IsNot),
        *_OPERATORS,
        *(ast.Load, ast.Store, ast.arguments, ast.arg),
    )
    hooks: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "__attribute": _attribute, "__compare": _compare, "__subscript": _subscript,
    }  # fmt: skip
    hints: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("For", "While", "GeneratorExp", "Slice", "len", "next", "iter", "sorted", "sum"), _LOOP),
        **dict.fromkeys(("BoolOp", "Not"), _CONDITIONS),
        **dict.fromkeys(("In", "NotIn"), "use self.ops.indicator"),
    }

    @classmethod
    def refused(cls, where: str, reason: str, hint: str = "") -> Refused:
        return Refused(reason, hint=hint or HINT, where=where)

    def _branches(self, node: ast.If | ast.IfExp | ast.Assert) -> ast.AST:
        if not asks_for_none(node.test):
            self.refuse(node, "a branch on anything but whether something is None is not part of what can be proved")
        return self.generic_visit(node)

    visit_If = visit_IfExp = visit_Assert = _branches  # noqa: N815

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        if node.ifs or node.is_async:
            self.refuse(node.iter, "a condition in a comprehension is not part of what can be proved", _LOOP)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        if any(isinstance(part, ast.Starred) for target in node.targets for part in ast.walk(target)):
            self.refuse(node, "it cuts a list by assigning it in parts", _LOOP)
        return super().visit_Assign(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            self.refuse(node, "arguments given by * or ** depend on how many there are", _LOOP)
        return super().visit_Call(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:  # noqa: N802
        if len(node.ops) > 1:
            self.refuse(node, "a chain of comparisons branches", _CONDITIONS)
        visited = super().visit_Compare(node)
        if isinstance(node.ops[0], ast.Is | ast.IsNot):
            return visited
        comparison = ast.Constant(_OPERATORS[type(node.ops[0])])
        return self.redirected("__compare", node, comparison, node.left, node.comparators[0])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: N802
        super().visit_Subscript(node)
        return self.redirected("__subscript", node, node.value, node.slice)


# -- machines ----------------------------------------------------------------------------------------------------------

#: These receive a message; they learn who else has it only through `ops.indicator`.
_TAKE_IN = ("deliverable", "on_packet")


def for_every_n(protocol: type[ProtocolMachine], terms: Terms) -> Any:
    """The protocol for any number of processes: given terms, its methods return terms. Raises `Refused` for operations
    that z3 would not see: at once or, where it depends on the arguments, on the call.
    """
    machine = OnTerms(protocol, terms)
    i, j = terms.any_process("i"), terms.any_process("j")
    state = machine.initial(i)
    for step in machine.send(i, state, Message("m", i, (j,))):
        for packet in step.packets:
            machine.deliverable(j, state, packet)
            machine.on_packet(j, state, packet)
    machine.receive(i, state, None)
    machine.receive(i, state, j)
    machine.internal(i, state)
    return machine


class OnTerms:
    """A machine whose methods take and return terms, and run on symbols."""

    def __init__(self, protocol: type[ProtocolMachine], terms: Terms) -> None:
        self.ops = terms
        self._protocol = protocol
        number: Any = AnyNumber()
        self._machine = compiled_anew(protocol, BranchFree)(number, SymbolicOps(terms))

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._machine, name)
        if not callable(attribute):
            return attribute

        def method(*given: Any) -> Any:
            try:
                values = [symbolic(value, loops=name not in _TAKE_IN) for value in given]
                return in_terms(_checked(name, attribute(*values)))
            except Refused as error:
                raise self._located(name, error) from error
            except Exception as error:  # the machine is user code: it may raise anything
                reason = str(error).splitlines()[0] if str(error) else "no message"
                raise self.refused(
                    name, f"raises an error on symbolic terms: {type(error).__name__}: {reason}"
                ) from error

        return method

    def refused(self, method: str, reason: str, hint: str = "") -> Refused:
        """The error for a result of one of its methods."""
        return Refused(reason, hint=hint, where=Call(self._protocol, method).subject)

    def _located(self, method: str, error: Refused) -> Refused:
        """The same error with a location: the innermost known, after the method if it is in another function."""
        if not error.where:
            return self.refused(method, error.message, error.hint)
        called = Call(self._protocol, method).named
        return error if error.where.startswith(f"{called} ") else Refused(error.message, hint=error.hint, where=called)


def _checked(name: str, result: Any) -> Any:
    """Checks that steps are steps, and that a guard yields a truth value."""
    if name == "deliverable" and not isinstance(result, bool) and not is_truth(result):
        refuse("gives no truth value", "return a comparison of values, self.ops.every(…) or self.ops.all_of(…)")
    if name not in ("send", "on_packet"):
        return result
    if not isinstance(result, list | tuple):
        refuse("does not give a list of steps", "return [Step(…)]")
    for step in result:
        if not isinstance(step, Step) or not (_all(step.packets, Packet) and _all(step.events, AppEvent)):
            refuse("gives something that is not a step of packets and events", "return [Step(state, packets, events)]")
    return result


def _all(some: object, of: type) -> bool:
    return isinstance(some, list | tuple) and all(isinstance(one, of) for one in some)
