"""The one reader of machine code: a transition is checked against a whitelist of syntax, and compiled anew.

A proof holds of the runs only if a transition is a function of its arguments, and uses only the operations that its
symbols support. So each function that a transition runs is read when it is first called:

- its syntax tree is walked; syntax outside the reader's whitelist is refused with its name and line;
- values from outside, read by name or as an attribute of a module, must be fixed: constants, named tuples as Python
  makes them, `sent` and `delivered`, the machine's own classes, and functions, which are read in turn;
- attributes are read only of the machine, of named tuples and of symbols (`attribute`): a value's type, length and
  methods are out of reach.

A syntax tree alone does not show which operands are lists. Therefore the tree is compiled with such operations
redirected to functions of the reader, which inspect the values; each subclass of `Reader` says which.

Trusted: that the source is what runs, and that no constant or class changes meanwhile.
"""

import ast
import builtins
import copy
import linecache
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, NamedTuple, NoReturn

from crownless.impl.protocol import ProtocolMachine, delivered, sent
from crownless.impl.user_frames import place

#: Attributes that Python itself adds to a class.
OF_CLASSES = frozenset(
    {"__module__", "__doc__", "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
    | {"__qualname__", "__dict__", "__weakref__", "__orig_bases__", "__parameters__", "__firstlineno__"}
    | {"__static_attributes__", "__slotnames__", "__abstractmethods__", "_abc_impl"}
)
#: Attributes of a machine with code that is not read or with values that differ between runs, and methods that no step
#: calls.
UNREAD = frozenset(
    {"invariants", "rules", "witnesses", "knobs", "parameters", "settings", "setting", "remark", "ordered_at"}
    | {"renamed", "renamed_stamp", "renamed_packet", "agree"}
)
#: The constructor arguments of a machine.
GIVEN = frozenset({"n", "ops", "settings"})

_MISSING = object()

IN_WORDS: Mapping[str, str] = {
    "For": "a for loop", "While": "a while loop", "BoolOp": "and/or", "Not": "not", "In": "in", "NotIn": "not in",
    "GeneratorExp": "a generator", "NamedExpr": ":=", "Slice": "a slice", "Set": "a set", "SetComp": "a set",
    "Dict": "a dictionary", "DictComp": "a dictionary", "JoinedStr": "an f-string", "ImportFrom": "import",
    "AugAssign": "an assignment to a name that has a value", "FloorDiv": "//", "Div": "/", "Mod": "%", "Pow": "**",
    "Invert": "~",
}  # fmt: skip


class Reader(ast.NodeTransformer):
    """Reads one function; a subclass chooses the supported part of Python and the redirected operations."""

    #: The supported syntax.
    allowed: ClassVar[tuple[type[ast.AST], ...]] = ()
    #: Built-in functions that may be called.
    builtins: ClassVar[frozenset[str]] = frozenset({"super", "tuple", "list"})
    #: The redirection targets; names that begin with two underscores are refused elsewhere.
    hooks: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    hints: ClassVar[Mapping[str, str]] = {}
    unread: ClassVar[frozenset[str]] = UNREAD

    def __init__(self, function: FunctionType, copies: Mapping[type, type], kind: type | None) -> None:
        self.function, self.copies, self.kind = function, copies, kind
        known = {name: getattr(builtins, name) for name in self.builtins}
        self.namespace: dict[str, Any] = {
            "__builtins__": known,
            "__name__": function.__module__,
            "__class__": kind,
            **self.hooks,
        }
        self.node = copy.deepcopy(self._source())
        self.own = frozenset(_own_names(self.node))
        #: The name of the machine, in one of its methods.
        self.first = self.node.args.args[0].arg if self.node.args.args else ""

    # -- to be said by a subclass --------------------------------------------------------------------------------------

    @classmethod
    def refused(cls, where: str, reason: str, hint: str = "") -> Exception:
        """The error for an unsupported operation."""
        raise NotImplementedError

    # -- reading -------------------------------------------------------------------------------------------------------

    def compiled(self) -> Callable[..., Any]:
        """The function, recompiled."""
        function, node = self.function, self.node
        if vars(function):
            self.refuse(node, f"the function {function.__name__} has attributes of its own")
        for name in sorted(self.builtins):
            outside = self._outside(name)
            if name in self.own or not (outside is _MISSING or outside is getattr(builtins, name)):
                self.refuse(node, f"{name} is not Python's own here", "give it another name")
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        if not all(map(is_constant, defaults)):
            self.refuse(node, "a default can change")
        if isinstance(node, ast.Lambda):
            lambda_ = ast.Lambda(self.visit(node.args), self.visit(node.body))
            node = ast.FunctionDef("made", lambda_.args, [ast.Return(lambda_.body)], [])
        else:
            node.decorator_list, node.returns = [], None
            node = self.visit(node)
        node.args.defaults, node.args.kw_defaults = [], [None] * len(node.args.kwonlyargs)
        ast.copy_location(node, self.node)
        module = ast.fix_missing_locations(ast.Module([node], []))
        defined: dict[str, Any] = {}  # outside the namespace, in which its name may denote another function
        exec(compile(module, function.__code__.co_filename, "exec"), self.namespace, defined)
        made: Any = defined[node.name]
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        return made  # type: ignore[no-any-return]

    def refuse(self, node: ast.AST, reason: str, hint: str = "") -> NoReturn:
        raise self.refused(self.where(node), reason, hint)

    def where(self, node: ast.AST) -> str:
        code = self.function.__code__
        line = getattr(node, "lineno", code.co_firstlineno)
        return f"{code.co_qualname.rpartition('<locals>.')[2]} ({place(code.co_filename, line)})"

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, self.allowed):
            name = type(node).__name__
            located = node if hasattr(node, "lineno") else self._last
            self.refuse(
                located, f"{IN_WORDS.get(name, name.lower())} is not part of what can be proved", self._hint(name)
            )
        if hasattr(node, "lineno"):
            self._last = node
        return super().visit(node)

    #: The last node with a line.
    _last: ast.AST = ast.Pass()

    def _hint(self, name: str) -> str:
        return self.hints.get(name, "")

    # -- syntax that every reader refuses or redirects -----------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._not_ours(node, node.name)
        if node.decorator_list:
            self.refuse(node, "a decorator is not part of what can be proved")
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        self._not_ours(node, node.arg)
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        plain = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return self.visit(ast.copy_location(plain, node)) if node.value is not None else ast.copy_location(plain, node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        for part in (part for target in node.targets for part in ast.walk(target)):
            if not isinstance(part, ast.Name | ast.Tuple | ast.List | ast.Starred | ast.expr_context):
                self.refuse(node, "it assigns to something that is not a local name")
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops) and not asks_for_none(node):
            self.refuse(node, "'is' asks which object a value is, not which value", "compare with ==")
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.kind is not None:
            name = ast.Name("super", ast.Load())
            return ast.copy_location(ast.Call(name, [_load("__class__"), _load(self.first)], []), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self._not_ours(node, node.id)
        if isinstance(node.ctx, ast.Load) and node.id not in self.own:
            value = self._outside(node.id)
            if value is _MISSING:
                if node.id not in self.builtins:
                    self.refuse(node, f"{node.id} is not part of what can be proved", self._hint(node.id))
            else:
                self.namespace[node.id] = self._fixed(node, node.id, value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            self.refuse(node, "it assigns to something that is not a local name")
        if node.attr.startswith("__") or node.attr in self.unread:
            self.refuse(node, f"{node.attr} is not part of what can be proved")
        if isinstance(node.value, ast.Name) and node.value.id not in self.own:
            module = self._outside(node.value.id)
            if type(module) is ModuleType:
                value = getattr(module, node.attr, _MISSING)
                if value is _MISSING:
                    self.refuse(node, f"the module {node.value.id} has no {node.attr}")
                name = f"__{node.value.id}_{node.attr}"
                self.namespace[name] = self._fixed(node, f"{node.value.id}.{node.attr}", value)
                return ast.copy_location(_load(name), node)
        node.value = self.visit(node.value)
        return self.redirected("__attribute", node, node.value, ast.Constant(node.attr))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            self.refuse(node, "it assigns to something that is not a local name")
        return self.generic_visit(node)

    def redirected(self, hook: str, node: ast.AST, *arguments: ast.expr) -> ast.AST:
        """A call of the hook, with the place as first argument."""
        call = ast.Call(_load(hook), [ast.Constant(self.where(node)), *arguments], [])
        return ast.copy_location(call, node)

    def _not_ours(self, node: ast.AST, name: str) -> None:
        if name.startswith("__"):
            self.refuse(node, f"{name} is not part of what can be proved")

    # -- values from outside -------------------------------------------------------------------------------------------

    def _outside(self, name: str) -> Any:
        function = self.function
        for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if free == name:
                return cell.cell_contents
        return function.__globals__.get(name, _MISSING)

    def _fixed(self, node: ast.AST, name: str, value: Any) -> Any:
        """The value as passed to the code."""
        if is_constant(value):
            return value
        if isinstance(value, type) and value in self.copies:
            return self.copies[value]
        if isinstance(value, FunctionType):
            return lazily(type(self), value, self.copies)
        noun = f"the module {name}" if isinstance(value, ModuleType) else name
        hint = "name what is read of it" if isinstance(value, ModuleType) else self._hint("")
        raise self.refused(self.where(node), f"{noun} is not part of what can be proved{_why(value)}", hint)

    # -- its source ----------------------------------------------------------------------------------------------------

    def _source(self) -> ast.FunctionDef | ast.Lambda:
        code = self.function.__code__
        nodes = _functions_in(code.co_filename).get((code.co_name, code.co_firstlineno), [])
        if len(nodes) > 1:  # several lambdas in one line
            places = {(line, column) for line, _, column, _ in code.co_positions() if line and column}
            nodes = [node for node in nodes if (node.body.lineno, node.body.col_offset) in places]  # type: ignore[union-attr]
        if len(nodes) != 1:
            where = f"{code.co_qualname} ({place(code.co_filename, code.co_firstlineno)})"
            raise self.refused(
                where, "its source is not found", "a proof reads the source of each transition: keep a file"
            )
        return nodes[0]


def _own_names(node: ast.AST) -> Iterator[str]:
    """The names to which a function, or a nested one, assigns."""
    for part in ast.walk(node):
        if isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.FunctionDef) and part is not node:
            yield part.name
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


@cache
def _functions_in(file: str) -> dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]]:
    found: dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]] = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.setdefault((node.name, line), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
    return found


def asks_for_none(test: ast.expr) -> bool:
    """True for ``… is None`` and ``… is not None``."""
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Is | ast.IsNot)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    )


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


# -- machines ----------------------------------------------------------------------------------------------------------


def compiled_anew(machine: type[ProtocolMachine], reader: type[Reader]) -> type[ProtocolMachine]:
    """The machine's class, with each method read and recompiled on its first call."""
    copies: dict[type, type] = {}
    for kind in reversed(machine.__mro__):
        copies[kind] = kind if kind in ProtocolMachine.__mro__ else _copied(kind, copies, reader)
    made: type[ProtocolMachine] = copies[machine]
    return made


def _copied(kind: type, copies: dict[type, type], reader: type[Reader]) -> type:
    name = kind.__name__
    if type(kind) is not type:
        raise reader.refused(name, "it has a metaclass, which makes its machines")
    made = type(name, tuple(copies[base] for base in kind.__bases__), {})
    for member, value in vars(kind).items():
        if member in OF_CLASSES or member in UNREAD:
            continue
        if member in GIVEN or (member.startswith("__") and member.endswith("__")):
            hint = "a machine is made and read as ProtocolMachine has it"
            raise reader.refused(name, f"{name} defines {member}", hint)
        wrapper = type(value) if type(value) in (staticmethod, classmethod, property) else None
        function = value.fget if wrapper is property else value.__func__ if wrapper else value
        if isinstance(function, FunctionType):
            method = lazily(reader, function, copies, made)
            setattr(made, member, wrapper(method) if wrapper else method)
        elif is_constant(value):
            setattr(made, member, value)
        else:
            raise reader.refused(f"{name}.{member}", f"it is neither a method nor a constant{_why(value)}")
    return made


def lazily(
    reader: type[Reader], function: FunctionType, copies: Mapping[type, type], kind: type | None = None
) -> Callable[..., Any]:
    """The function, read when it is first called."""
    made: list[Callable[..., Any]] = []

    def method(*given: Any, **named: Any) -> Any:
        if not made:
            made.append(reader(function, copies, kind).compiled())
        return made[0](*given, **named)

    return method


# -- values ------------------------------------------------------------------------------------------------------------


def attribute(of: Any, name: str) -> Any:
    """`of.name`: of the machine, a field of a named tuple, a supported attribute of a symbol; raises `LookupError`."""
    a_machine = isinstance(of, ProtocolMachine | super) or (isinstance(of, type) and issubclass(of, ProtocolMachine))
    a_field = isinstance(of, tuple) and name in (*getattr(of, "_fields", ()), "_replace")
    if a_machine or a_field or name in getattr(type(of), "readable", ()):
        return getattr(of, name)
    raise LookupError(f"{getattr(of, 'noun', type(of).__name__)}.{name}")


def is_constant(value: Any) -> bool:
    """True for values that are the same in every run: None, truth values, ints, texts, tuples and frozensets of them,
    named tuples and their types, `sent` and `delivered`.
    """
    if value is None or type(value) in (bool, int, str, bytes):
        return True
    if type(value) in (tuple, frozenset):
        return all(map(is_constant, value))
    if isinstance(value, type):
        return hasattr(value, "_fields") and not _why_no_named_tuple(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return is_constant(type(value)) and all(map(is_constant, tuple.__iter__(value)))
    return value in (sent, delivered) if isinstance(value, FunctionType) else False


def _why(value: Any) -> str:
    """Why a named tuple is not accepted, with a colon; empty for other values."""
    return f": {_why_no_named_tuple(value)}" if isinstance(value, type) and hasattr(value, "_fields") else ""


_GENERATED = ("__new__", "_make", "_replace", "_asdict", "__repr__", "__getnewargs__")


def _why_no_named_tuple(kind: Any) -> str:
    """Why it is not a named tuple as Python makes them; empty if it is one."""
    is_one = type(kind) is type and kind.__mro__[1:] == (tuple, object)
    if not is_one or not _has_generated_members(vars(kind), vars(_plain(kind._fields)), kind._fields):
        return f"{kind.__name__} is not a named tuple as Python makes them"
    return (
        ""
        if all(map(is_constant, kind.__new__.__defaults__ or ()))
        else f"{kind.__name__} has a default that can change"
    )


class _Declared(NamedTuple):
    """Has the special members that a class statement adds."""


def _has_generated_members(given: Mapping[str, Any], plain: Mapping[str, Any], fields: Iterable[str]) -> bool:
    """True if the special members are those that Python generates, and each field reads its own place."""
    special = {  # not what others note on a class, such as the list `__slotnames__` of `copy`
        name
        for name, member in given.items()
        if name.startswith("__") and (callable(member) or hasattr(member, "__get__"))
    }
    return (
        special <= {*plain, *vars(_Declared)}
        and all(_code(given.get(name)) == _code(plain[name]) for name in _GENERATED)
        and all(
            type(given[name]) is type(plain[name]) and given[name].__reduce__()[1][0] == place
            for place, name in enumerate(fields)
        )
    )


@cache
def _plain(fields: tuple[str, ...]) -> type:
    return namedtuple("Plain", fields)


def _code(member: Any) -> CodeType | None:
    """The code, independent of the name of the tuple."""
    return getattr(getattr(member, "__func__", member), "__code__", None)
