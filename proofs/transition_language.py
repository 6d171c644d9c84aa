"""The part of Python in which a transition can be proved; anything outside it is refused.

A `Symbol` refuses what z3 cannot see when it is asked. It is not asked by everything: ``k is j``, ``isinstance``,
``try``, a counter on the machine or in a loop, the length of a list, the clock, all give an answer in the proof that is
none for the runs. So each Python function that a transition runs is looked at when it is called, with its source:

- no branches, but on whether something is None; no loops, but comprehensions without a condition; no ``is``, ``in``,
  ``and``, ``or``, ``not``, ``try``, slices, assignments to anything but new local names;
- what is read by subscript is a vector or a matrix, and no list is compared (looked at when the function returns);
- what it reads from outside is fixed: functions, named tuples, numbers, names (`reachable`), by name or as an
  attribute of a module of crownless, such as `cr.Step`;
- what it calls is `self.ops`, such functions, and named tuples; no function of Python's own, so no ``len``,
  ``enumerate``, ``zip``, ``islice``, ``next``, ``sorted``, ``list.append``, ``random`` or ``time``.

Hence a transition has one path, the same in every run, and is a function of its arguments. It can build lists from the
receivers of a message only by comprehensions, entry by entry, where nothing is carried from one entry to the next;
`any_multicast` shows that what comes out for one, two and three receivers therefore comes out for any number.

Trusted: that the source is what runs, and that a machine does not reach into the prover.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FrameType, ModuleType
from typing import Any, TypeGuard

from crownless.impl.code_of_machines import holds_name
from crownless.impl.protocol import ProtocolMachine
from crownless.model_check.wrong_machine import place
from crownless.runtime.memory import collector_off

from .operands import check_operands
from .reachable import UNREAD, why_not_fixed, why_not_fixed_machine
from .refusals import refuse

#: Functions of these modules are not looked at, nor what they call but for the transitions themselves.
TRUSTED = ("crownless.proofs", "crownless.spec.errors", "z3", "collections", "contextlib")

_STATEMENTS = (ast.FunctionDef, ast.Return, ast.Assign, ast.AnnAssign, ast.Assert, ast.If, ast.Pass)
_EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Lambda, ast.ListComp, ast.comprehension),
    *(ast.Tuple, ast.List, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.IfExp, ast.Expr),
    *(ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot),
    *(ast.Load, ast.Store, ast.arguments, ast.arg),
)
_ALLOWED = (*_STATEMENTS, *_EXPRESSIONS)

_IN_WORDS: dict[type[ast.AST], str] = {
    ast.For: "a for loop", ast.While: "a while loop", ast.Try: "try", ast.With: "with", ast.Global: "global",
    ast.Nonlocal: "nonlocal", ast.BoolOp: "and/or", ast.Not: "not", ast.In: "in", ast.NotIn: "not in",
    ast.GeneratorExp: "a generator", ast.Yield: "yield", ast.NamedExpr: ":=", ast.Slice: "a slice", ast.Set: "a set",
    ast.SetComp: "a set", ast.Dict: "a dictionary", ast.DictComp: "a dictionary", ast.JoinedStr: "an f-string",
    ast.Import: "import", ast.ImportFrom: "import", ast.Raise: "raise", ast.Delete: "del", ast.Mod: "%",
    ast.AugAssign: "an assignment to a name that has a value", ast.FloorDiv: "//", ast.Div: "/", ast.Pow: "**",
    ast.Invert: "~",
}  # fmt: skip

_LOOP = "go through receivers and packets in a list comprehension without a condition"
_LOOPS: tuple[type[ast.AST], ...] = (ast.For, ast.While, ast.GeneratorExp, ast.Slice)
_HINTS: dict[type[ast.AST], str] = {
    **dict.fromkeys(_LOOPS, _LOOP),
    ast.BoolOp: "combine conditions with self.ops.all_of and self.ops.one_if",
    ast.Not: "combine conditions with self.ops.all_of and self.ops.one_if",
    ast.In: "use self.ops.among",
    ast.NotIn: "use self.ops.among",
}
_FIXED = "a transition that is proved depends on its arguments alone"


@contextmanager
def only_the_language() -> Iterator[None]:
    """While this is open, each Python function that a transition runs is looked at; what is outside is refused.

    Nothing is collected meanwhile, since a collection may call Python functions that no transition does.
    """
    before = sys.getprofile()
    with collector_off():
        sys.setprofile(_watch)
        try:
            yield
        finally:
            sys.setprofile(before)


def fixed_machine(kind: type[ProtocolMachine]) -> None:
    """Refuses a machine that keeps anything beside the state, or is made in a way of its own."""
    why = why_not_fixed_machine(kind)
    if why is not None:
        refuse(why, _FIXED)


# -- what runs ---------------------------------------------------------------------------------------------------------


class _Seen:
    """Code by identity: what has been looked at, and what of it is within a function, whose names it sees."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}

    def add(self, code: CodeType) -> None:
        self._codes[id(code)] = code  # kept, so that the number stays its own

    def __contains__(self, code: CodeType) -> bool:
        return id(code) in self._codes


_seen, _inner, _ours = _Seen(), _Seen(), _Seen()


def _watch(frame: FrameType, event: str, arg: Any) -> None:
    code = frame.f_code
    if event == "call":
        if code not in _ours and not _trusted(frame) and _called_by_a_transition(frame):
            _look_at(frame)
    elif event == "c_call" and code in _seen:
        name = getattr(arg, "__qualname__", getattr(arg, "__name__", "a function of Python's own"))
        refuse(f"{_where(code)}: {name}() is not part of what can be proved", _hint_for(name))
    elif event == "return" and code in _seen:
        check_operands(frame, _nodes(code))


def _hint_for(name: str) -> str:
    if name.startswith("@py"):
        return "pytest rewrites each assert of a test file: define the machine in a module of its own"
    return _LOOP if name in ("list.append", "list.extend", "len", "next", "iter", "sorted", "sum") else _FIXED


def _trusted(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    generated = module.startswith("namedtuple_") and frame.f_code.co_filename == "<string>"
    if generated or any(module == of or module.startswith(f"{of}.") for of in TRUSTED):
        _ours.add(frame.f_code)
        return True
    return False


def _called_by_a_transition(frame: FrameType) -> bool:
    caller = frame.f_back
    if caller is None:
        return False
    return caller.f_code in _seen or str(caller.f_globals.get("__name__", "")).startswith("crownless.proofs")


def _look_at(frame: FrameType) -> None:
    code = frame.f_code
    if code not in _seen:
        for node in _nodes(code):
            _check(node, code)
        for part in _nested(code):
            _seen.add(part)
        for part in _nested(code)[1:]:
            _inner.add(part)
    if code in _inner:
        return
    for name, read in _globals_of(code):
        value = frame.f_globals.get(name, frame.f_builtins.get(name))
        if type(value) is ModuleType and _is_opened(value):
            if read is None:
                refuse(
                    f"{_where(code)}: the module {name} is not part of what can be proved", "name what is read of it"
                )
            if not holds_name(value, read):
                refuse(f"{_where(code)}: the module {name} has no {read}", "name what is read of it")
            name, value = f"{name}.{read}", vars(value)[read]
        _refuse_unless_fixed(code, name, value)
    for name in code.co_freevars:
        _refuse_unless_fixed(code, name, frame.f_locals.get(name))


def _is_opened(module: ModuleType) -> bool:
    """True if code that is proved may read this module's names: crownless itself, what it specifies and implements."""
    return module is sys.modules["crownless"] or module.__name__.startswith(("crownless.impl", "crownless.spec"))


def _refuse_unless_fixed(code: CodeType, name: str, value: object) -> None:
    why = why_not_fixed(value)
    if why is not None:
        refuse(f"{_where(code)}: {name} is not part of what can be proved{why and ': '}{why}", _hint_for(name))


def _where(code: CodeType) -> str:
    return f"{code.co_qualname.replace('.<locals>', '')} ({place(code.co_filename, code.co_firstlineno)})"


@cache
def _nested(code: CodeType) -> tuple[CodeType, ...]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return (code, *(deeper for each in inner for deeper in _nested(each)))


@cache
def _globals_of(code: CodeType) -> tuple[tuple[str, str | None], ...]:
    """The names from outside that it reads, each with the attribute that is read of it at once, if one is."""
    found: list[tuple[str, str | None]] = []
    for part in _nested(code):
        instructions = list(dis.get_instructions(part))
        for each, following in zip(instructions, [*instructions[1:], None], strict=True):
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                attribute = following is not None and following.opname in ("LOAD_ATTR", "LOAD_METHOD")
                found.append((str(each.argval), str(following.argval) if following and attribute else None))
    return tuple(found)


# -- its source --------------------------------------------------------------------------------------------------------


def _nodes(code: CodeType) -> list[ast.AST]:
    """The function in the source; of several lambdas in one line, all."""
    found = _functions_in(code.co_filename).get((code.co_name, code.co_firstlineno), [])
    if not found:
        refuse(f"the source of {_where(code)} is not found", "a proof reads the source of each transition: keep a file")
    return found


@cache
def _functions_in(file: str) -> dict[tuple[str, int], list[ast.AST]]:
    names = {ast.Lambda: "<lambda>", ast.ListComp: "<listcomp>", ast.GeneratorExp: "<genexpr>"}
    names |= {ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}
    found: dict[tuple[str, int], list[ast.AST]] = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            line = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.setdefault((node.name, line), []).append(node)
        elif type(node) in names:
            found.setdefault((names[type(node)], node.lineno), []).append(node)  # type: ignore[attr-defined]
    return found


def _check(node: ast.AST, code: CodeType) -> None:
    if not isinstance(node, _ALLOWED):
        _refuse_node(node, code)
    if isinstance(node, ast.FunctionDef) and any(isinstance(part, ast.FunctionDef) for part in node.body):
        refuse(f"{_where(code)}: a function within a function is not part of what can be proved", "make it a method")
    if isinstance(node, ast.Assert | ast.If | ast.IfExp):
        if not _asks_for_none(node.test):
            refuse(
                f"{_where(code)}: a branch on anything but whether something is None is not part of what can be proved"
            )
    elif isinstance(node, ast.Compare):
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops) and not _asks_for_none(node):
            refuse(f"{_where(code)}: 'is' asks which object a value is, not which value", "compare with ==")
        if len(node.ops) > 1:
            refuse(f"{_where(code)}: a chain of comparisons branches", "combine conditions with self.ops.all_of")
    elif isinstance(node, ast.comprehension):
        if node.ifs or node.is_async:
            refuse(f"{_where(code)}: a condition in a comprehension is not part of what can be proved", _LOOP)
    elif isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        refuse(f"{_where(code)}: {node.attr} is not part of what can be proved")
    elif isinstance(node, ast.Attribute) and node.attr in UNREAD:
        refuse(f"{_where(code)}: {node.attr} is not part of what can be proved", _FIXED)
    elif isinstance(node, ast.Call):
        starred = [each for each in node.args if isinstance(each, ast.Starred)]
        if starred or any(each.arg is None for each in node.keywords):
            refuse(f"{_where(code)}: arguments given by * or ** depend on how many there are", _LOOP)
    for part in _parts(node):
        _check(part, code)
    _check_targets(node, code)


def _check_targets(node: ast.AST, code: CodeType) -> None:
    """Only local names are assigned to, and no list is cut by assigning it in parts."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.comprehension):
        targets = [node.target]
    elif isinstance(node, ast.FunctionDef):
        assigned = [each for each in ast.walk(node) if isinstance(each, ast.Assign | ast.AnnAssign)]
        to = [
            target for each in assigned for target in (each.targets if isinstance(each, ast.Assign) else [each.target])
        ]
        names = [part.id for each in to for part in ast.walk(each) if _is_stored(part)]
        names += [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            refuse(f"{_where(code)}: {twice} is assigned to twice", "give each value a name of its own")
    for target in [part for each in targets for part in ast.walk(each)]:
        if not isinstance(target, ast.Name | ast.Tuple | ast.List | ast.expr_context):
            refuse(f"{_where(code)}: it assigns to something that is not a local name", _FIXED)


def _is_stored(part: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """What runs of it; not annotations, and decorators and defaults ran before."""
    if isinstance(node, ast.FunctionDef):
        yield from node.body
    elif isinstance(node, ast.AnnAssign):
        yield from [node.value] if node.value is not None else []
    elif isinstance(node, ast.Lambda):
        yield from (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None), node.body)
    else:
        yield from ast.iter_child_nodes(node)


def _asks_for_none(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Is | ast.IsNot)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    )


def _refuse_node(node: ast.AST, code: CodeType) -> None:
    word = _IN_WORDS.get(type(node), type(node).__name__)
    hint = _HINTS.get(type(node))
    reason = f"{_where(code)}: {word} is not part of what can be proved"
    if hint is None:
        refuse(reason)
    refuse(reason, hint)
