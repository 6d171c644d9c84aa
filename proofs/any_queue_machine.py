"""A machine's own methods, recompiled from their source to run on queues of any content (`symbolic_queues`).

`message, *rest = queue` makes a plain list of any iterable before an object could object. Therefore unpacking, starred
displays, comprehensions, `tuple`, `list` and attributes are redirected to this module; the rest of the code is as it
stands. Code is refused that could get around that: it is written in a part of Python (`_FOLLOWED`), reaches by name
constants, plain named tuples, `sent` and `delivered` alone (`reachable`), and reads attributes only of the machine, of
named tuples and of messages; so there are no other functions beside the machine, nothing that looks at an object's
type, length or place in memory, nor at its text, and no changes of anything but local variables.

Trusted: that the source is what runs, and that a step is a function of its arguments.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Mapping, Set
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

import z3

from crownless.impl.protocol import ProtocolMachine

from .code_of_machines import OF_CLASSES, holds_name
from .reachable import UNREAD, why_not_constant
from .symbolic_queues import (
    MessageSymbol,
    NumberOfProcesses,
    One,
    Opaque,
    ProcessSymbol,
    Queue,
    Stretch,
    UnsupportedStep,
)
from .terms import Term

# -- what the code is redirected to ------------------------------------------------------------------------------------


def _unpacked(some: Any, before: int) -> list[Any]:
    """`a, b, *rest = some`."""
    if not isinstance(some, Queue):
        some = list(some)
        if len(some) < before:
            raise ValueError("not enough values to unpack")
        return [*some[:before], some[before:]]
    taken = []
    for _ in range(before):
        value, some = some.without_oldest()
        taken.append(value)
    return [*taken, some]


def _display(make: Callable[[list[Any]], Any], *parts: tuple[bool, Any]) -> Any:
    """`(*a, b)` or `[*a, b]`."""
    symbolic = next((part for starred, part in parts if starred and isinstance(part, Queue)), None)
    if symbolic is None:
        return make([each for starred, part in parts for each in (part if starred else (part,))])
    pieces: list[Stretch | One] = []
    for starred, part in parts:
        if starred and isinstance(part, Queue):
            pieces += part.pieces
        else:
            pieces += [One(each) for each in (part if starred else (part,))]
    return Queue(pieces, symbolic.path, symbolic.message)


def _whole(make: Callable[[Any], Any], *some: Any) -> Any:
    """`tuple(some)` or `list(some)`."""
    return some[0] if some and isinstance(some[0], Queue) else make(*some)


def _of_each(make: Callable[[Any], Any], value: Callable[[Any], Any], some: Any) -> Any:
    """`[value for element in some]`."""
    if not isinstance(some, Queue):
        return make(value(each) for each in some)

    def each(stretch: Stretch) -> Stretch:
        x = z3.FreshConst(some.message, "x")
        outer, some.path.within_queue = some.path.within_queue, True
        try:
            made = value(stretch.element(x))  # now: what it reads may stand for something else later
        finally:
            some.path.within_queue = outer
        return stretch._replace(element=lambda y: _with(made, x, y))

    pieces = [One(value(piece.value)) if isinstance(piece, One) else each(piece) for piece in some.pieces]
    return Queue(pieces, some.path, some.message)


def _with(value: Any, x: Term, y: Term) -> Any:
    """The value that was made of message x, made of y."""
    if isinstance(value, MessageSymbol):
        return MessageSymbol(
            z3.substitute(value.term, (x, y)), value.path, _with(value.sender, x, y), _with(value.receiver, x, y)
        )
    if isinstance(value, ProcessSymbol):
        return ProcessSymbol(z3.substitute(value.term, (x, y)), value.path)
    if isinstance(value, tuple):
        parts = [_with(part, x, y) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise UnsupportedStep(f"a step makes something of the type {type(value).__name__} of each element of a queue")


def _attribute(of: Any, name: str) -> Any:
    """`of.name`: of the machine itself, of a named tuple a field, of a message its sender or receiver."""
    if (
        isinstance(of, ProtocolMachine)
        or type(of) is super
        or (isinstance(of, type) and issubclass(of, ProtocolMachine))
    ):
        return getattr(of, name)
    if isinstance(of, MessageSymbol) and name in ("sender", "receiver"):
        return getattr(of, name)
    if isinstance(of, tuple) and name in (*getattr(of, "_fields", ()), "_replace"):
        return getattr(of, name)
    noun = of.noun if isinstance(of, Opaque) else f"something of the type {type(of).__name__}"
    raise UnsupportedStep(f"a step reads {name} of {noun}")


_HOOKS: dict[str, Any] = {
    "__attribute": _attribute,
    "__unpacked": _unpacked,
    "__display": _display,
    "__whole": _whole,
    "__of_each": _of_each,
    "__tuple": tuple,
    "__list": list,
}
#: Builtins that a step may use; what looks at an object's type, name or place in memory is not among them.
_ALLOWED = {"tuple", "list", "super", "bool", "None", "True", "False", "AssertionError"}


#: The part of Python in which a step is written that is followed.
_FOLLOWED = (
    *(ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AnnAssign, ast.Assert, ast.Raise, ast.Expr),
    *(ast.If, ast.For, ast.Break, ast.Continue, ast.Pass, ast.IfExp, ast.BoolOp, ast.And, ast.Or, ast.Not, ast.UnaryOp),
    *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Lambda, ast.Load, ast.Store),
    *(ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.Tuple, ast.List, ast.Starred, ast.Subscript, ast.Slice),
    *(ast.BinOp, ast.Add, ast.Sub, ast.USub, ast.Compare, ast.cmpop),
)


class _Redirect(ast.NodeTransformer):
    """The code of a method, with what may take a queue apart redirected."""

    def __init__(self, known: Mapping[str, Any], own: Set[str]) -> None:
        #: What its names stand for, but for its own variables.
        self.known = known
        #: The names of its own variables.
        self.own = own

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, _FOLLOWED):
            raise UnsupportedStep(f"a step has something in it that is not followed: {type(node).__name__}")
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id.startswith("__") and node.id != "__class__":
            raise UnsupportedStep(f"a step uses {node.id}")
        if isinstance(node.ctx, ast.Load):
            if node.id in self.known:
                _refuse_unless_constant(node.id, self.known[node.id])
            elif hasattr(builtins, node.id) and node.id not in _ALLOWED:
                raise UnsupportedStep(f"a step uses {node.id}")
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return self._named(node, node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._named(node, node.name)

    def _named(self, node: ast.AST, name: str) -> ast.AST:
        if name.startswith("__"):  # what the code is redirected to has such names
            raise UnsupportedStep(f"a step gives something the name {name}")
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)  # it does not run
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        (target, *more) = node.targets
        if isinstance(target, ast.Tuple | ast.List) and any(isinstance(each, ast.Starred) for each in target.elts):
            *first, last = target.elts
            if more or not isinstance(last, ast.Starred) or any(isinstance(each, ast.Starred) for each in first):
                raise UnsupportedStep("a step takes a queue apart other than at its oldest element")
            names = ast.Tuple([*first, last.value], ast.Store())
            return ast.Assign([names], _call("__unpacked", node.value, ast.Constant(len(first))))
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self._display(node, "__tuple")

    def visit_List(self, node: ast.List) -> ast.AST:
        return self._display(node, "__list")

    def _display(self, node: ast.Tuple | ast.List, make: str) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store) or not any(isinstance(each, ast.Starred) for each in node.elts):
            return node
        parts: list[ast.expr] = []
        for each in node.elts:
            starred = isinstance(each, ast.Starred)
            value = each.value if isinstance(each, ast.Starred) else each
            parts.append(ast.Tuple([ast.Constant(starred), value], ast.Load()))
        return _call("__display", _name_of(make), *parts)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        raise UnsupportedStep("a step has a generator other than in tuple(…) or list(…), which can be used up")

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        (over, *more) = node.generators
        if more or over.ifs or not isinstance(over.target, ast.Name):
            return node
        arguments = ast.arguments([], [ast.arg(over.target.id)], None, [], [], None, [])
        return _call("__of_each", _name_of("__list"), ast.Lambda(arguments, node.elt), over.iter)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("tuple" | "list"), [ast.GeneratorExp(value, over)], []):
                node.args = [ast.ListComp(value, over)]
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list") and not node.keywords:
            return _call("__whole", node.func, *node.args)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return ast.Call(node.func, [_name_of("__class__"), _name_of("self")], [])
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        for operator, right in zip(node.ops, node.comparators, strict=True):
            none = isinstance(right, ast.Constant) and right.value is None
            if isinstance(operator, ast.Is | ast.IsNot) and not none:
                raise UnsupportedStep("a step asks whether two values are the same object")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            raise UnsupportedStep("a step changes an attribute")
        if node.attr.startswith("__") or node.attr in UNREAD | _NOT_STEPS:
            raise UnsupportedStep(f"a step reads {node.attr}")
        of = self.known.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if type(of) is ModuleType and isinstance(node.value, ast.Name) and node.value.id not in self.own:
            if not holds_name(of, node.attr):
                raise UnsupportedStep(f"a step reads {node.attr} of the module {of.__name__}, which has no such name")
            _refuse_unless_constant(node.attr, vars(of)[node.attr])
            return node
        self.generic_visit(node)
        return _call("__attribute", node.value, ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            raise UnsupportedStep("a step changes a value in place")
        return self.generic_visit(node)


def _call(hook: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_name_of(hook), list(arguments), [])


def _name_of(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


#: Methods that no step calls.
_NOT_STEPS = {"renamed", "renamed_stamp", "renamed_packet", "agree"}


def on_any_queues(machine: type[ProtocolMachine]) -> ProtocolMachine:
    """The machine, its methods compiled anew to run on these values; raises `UnsupportedStep` if one cannot be."""
    redirected: dict[type, type] = {ProtocolMachine: ProtocolMachine}
    for kind in reversed(machine.__mro__):
        if not issubclass(kind, ProtocolMachine) or kind is ProtocolMachine:
            if kind not in (object, ProtocolMachine):
                raise UnsupportedStep(f"a step may come from {kind.__name__}, which is not a protocol")
            continue
        if type(kind) is not type:
            raise UnsupportedStep(f"{kind.__name__} has a metaclass, which makes its machines")
        bases = tuple(redirected[base] for base in kind.__bases__)
        copy = redirected[kind] = type(kind.__name__, bases, {})
        for name, member in vars(kind).items():
            if name in OF_CLASSES or name in UNREAD or name in _NOT_STEPS:
                continue
            if name.startswith("__"):
                raise UnsupportedStep(f"{kind.__name__} defines {name}")
            if isinstance(member, FunctionType):
                setattr(copy, name, _redirected(member, copy))
            elif why_not_constant(member) is None:
                setattr(copy, name, member)
            else:
                raise UnsupportedStep(f"{kind.__name__}.{name} is neither a plain method nor a constant")
    number: Any = NumberOfProcesses()
    made: ProtocolMachine = redirected[machine](number, number)
    return made


def _redirected(method: FunctionType, kind: type) -> FunctionType:
    if method.__name__ == "<lambda>":
        raise UnsupportedStep("a step is a lambda, whose source is not read")
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    except (OSError, SyntaxError, ValueError) as error:
        raise UnsupportedStep(f"the source of {method.__qualname__} cannot be read") from error
    if not isinstance(definition, ast.FunctionDef) or definition.decorator_list:
        raise UnsupportedStep(f"{method.__qualname__} is not a plain method")
    cells = dict(zip(method.__code__.co_freevars, method.__closure__ or (), strict=True))
    held = {name: cell.cell_contents for name, cell in cells.items() if name != "__class__"}
    if attrgetter("__builtins__")(method) is not vars(builtins) or vars(method):
        raise UnsupportedStep(f"{method.__qualname__} has builtins or attributes of its own")
    if method.__defaults__ or method.__kwdefaults__:
        raise UnsupportedStep(f"{method.__qualname__} has arguments with defaults")
    definition.returns = None
    for argument in (*definition.args.args, *definition.args.kwonlyargs):
        argument.annotation = None
    definition = _Redirect({**method.__globals__, **held}, _own_names(definition)).visit(definition)
    # Around it a function that gives it the variables that it had from outside.
    module = ast.parse(f"def __outer({', '.join(['__class__', *held])}): return {definition.name}")
    outer = module.body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body.insert(0, definition)
    names = {**method.__globals__, **_HOOKS}
    exec(compile(ast.fix_missing_locations(module), inspect.getsourcefile(method) or "<step>", "exec"), names)
    made = names["__outer"](kind, *held.values())
    assert isinstance(made, FunctionType)
    return made


def _own_names(definition: ast.FunctionDef) -> Set[str]:
    """What a method, or a function within it, gives as a name to a value of its own."""
    own: set[str] = set()
    for node in ast.walk(definition):
        if isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.FunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
    return own


def _refuse_unless_constant(name: str, value: Any) -> None:
    """Functions beside the machine are not compiled anew, and what can change is no constant."""
    why = why_not_constant(value)
    if why is not None:
        raise UnsupportedStep(
            f"a step uses {name}, which is neither a constant nor a plain named tuple{why and ': '}{why}"
        )
