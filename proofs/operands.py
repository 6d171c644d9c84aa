"""Refusal of transitions whose lists are indexed or compared, since that depends on their length.

``([0 for j in receivers] + [0, 0, 1, 1])[4]`` counts receivers without a loop or a branch, and so does
``[0 for j in receivers] == [0, 0, 0, 0]``. Python says nothing of either, so when a function returns, what its
subscripts and comparisons were about is looked at: names have one value, so they still have it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from types import FrameType
from typing import Any

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.user_frames import place

from .refusals import Refusals, refuse
from .symbols import AnyMessage, AnyReceivers, Symbol, SymbolicOps

_HINT = "give it a name first"

#: A name of another function, one without a value any more, and what a call gives.
_ELSEWHERE, _UNBOUND, _UNKNOWN = object(), object(), object()


def _is_nameless(value: object) -> bool:
    return value is _UNKNOWN or value is _UNBOUND


def check_operands(frame: FrameType, nodes: Sequence[ast.AST]) -> None:
    """Raises `Refused` if a subscript or a comparison of the function that returns was about a list."""
    if Refusals.open and Refusals.open[-1].first is not None:
        return
    for node in nodes:
        subscripts, compared, passing = _operations(node)
        for part in subscripts:
            _check_subscripted(part, frame, passing)
        for operand in compared:
            _check_compared(operand, frame, passing)


@cache
def _operations(node: ast.AST) -> tuple[list[ast.Subscript], list[ast.expr], set[str]]:
    """The subscripts of a function, what it compares, and the names that have another value each time."""
    own = list(_own(node))
    comparisons = [part for part in own if isinstance(part, ast.Compare)]
    return (
        [part for part in own if isinstance(part, ast.Subscript)],
        [
            operand
            for part in comparisons
            if not isinstance(part.ops[0], ast.Is | ast.IsNot)
            for operand in (part.left, *part.comparators)
        ],
        {name for part in own if isinstance(part, ast.comprehension) for name in _names(part.target)},
    )


def _check_subscripted(node: ast.Subscript, frame: FrameType, passing: set[str]) -> None:
    value = _value(node.value, frame, passing)
    if isinstance(node.value, ast.Subscript) or value is _ELSEWHERE or isinstance(value, Symbol | AnyReceivers):
        return  # of the inner one it is looked at in its turn
    what = "something without a name" if _is_nameless(value) else "a list or tuple"
    hint = _HINT if _is_nameless(value) else "keep what differs in vectors and matrices, or in named tuples"
    refuse(f"{_where(frame, node)}: reads {what} by place", hint)


def _check_compared(node: ast.expr, frame: FrameType, passing: set[str]) -> None:
    if isinstance(node, ast.BinOp):
        _check_compared(node.left, frame, passing)
        _check_compared(node.right, frame, passing)
    elif isinstance(node, ast.UnaryOp):
        _check_compared(node.operand, frame, passing)
    elif isinstance(node, ast.Compare | ast.Subscript):
        return  # looked at by itself; what these give is no list
    elif isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Attribute) or not isinstance(
            _value(node.func.value, frame, passing), SymbolicOps
        ):
            refuse(f"{_where(frame, node)}: compares what a call gives", _HINT)
    else:
        value = _value(node, frame, passing)
        if _is_nameless(value):
            refuse(f"{_where(frame, node)}: compares something without a name", _HINT)
        if isinstance(value, list | tuple):
            refuse(f"{_where(frame, node)}: compares lists or tuples", "compare numbers, processes and vectors")


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What a function runs itself, annotations left out."""
    inside: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef):
        inside = [*node.body]
    elif isinstance(node, ast.Lambda):
        inside = [node.body]
    else:
        inside = [*ast.iter_child_nodes(node)]
    while inside:
        part = inside.pop()
        yield part
        if isinstance(part, ast.AnnAssign):
            inside += [part.value] if part.value is not None else []
        elif isinstance(part, ast.Lambda):  # its body runs when it is called
            inside += [*part.args.defaults, *(each for each in part.args.kw_defaults if each is not None)]
        elif not isinstance(part, ast.FunctionDef):
            inside += ast.iter_child_nodes(part)


def _names(target: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}


def _value(node: ast.expr, frame: FrameType, passing: set[str]) -> Any:
    """What it is about; of names in `passing`, which have another value each time, nothing is known."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in passing:
        return _UNBOUND
    if isinstance(node, ast.Name):
        code = frame.f_code
        if node.id in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            return frame.f_locals.get(node.id, _UNBOUND)
        return frame.f_globals.get(node.id, _ELSEWHERE)
    if isinstance(node, ast.Attribute):
        of = _value(node.value, frame, passing)
        if of is _ELSEWHERE:
            return of
        fields = isinstance(of, tuple) and node.attr in getattr(of, "_fields", ())
        if fields or isinstance(of, AnyMessage):
            return getattr(of, node.attr)
        if isinstance(of, ProtocolMachine):
            return vars(of).get(node.attr, _UNKNOWN)
    return _UNKNOWN


def _where(frame: FrameType, node: ast.expr) -> str:
    return f"{frame.f_code.co_qualname.replace('.<locals>', '')} ({place(frame.f_code.co_filename, node.lineno)})"
