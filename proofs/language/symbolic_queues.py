"""Queues of any content, on which a machine's own step runs for z3.

A queue is a sequence of pieces: single elements, and stretches of any number of elements, oldest first. A step may test
whether a queue is empty, take its oldest element, append to it, and do one thing for each of its elements. All else
raises `UnsupportedStep`: length, index, slice, comparison, membership, order. So a step cannot distinguish a longer
queue from a shorter one except by its end, and the result holds for every length. Processes and messages are symbols:
they can be compared with each other, processes by size only where the protocol ranks them, and with no constant; so no
step can single one out. A machine's own code is recompiled to run on them (`OnQueues`).
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import z3

from crownless.impl.protocol_validation import WrongMachine
from crownless.runtime.printable import error_line

from .machine_code import Reader, attribute
from .terms import Term, like


class UnsupportedStep(Exception):
    """The step uses an operation not covered for queues of any content; the message names it."""


def _refusing(*names: str) -> dict[str, Callable[..., Any]]:
    def refuse(name: str) -> Callable[..., Any]:
        def method(self: Any, *_: object, **__: object) -> Any:
            raise UnsupportedStep(f"a step uses {name.strip('_')} of {self.noun}")

        return method

    return {name: refuse(name) for name in names}


_ARITHMETIC = ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__mod__", "__rmod__", "__neg__")
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_SHOWING = ("__repr__", "__str__", "__format__", "__hash__", "__int__", "__index__", "__float__")
_CONTAINING = ("__len__", "__iter__", "__getitem__", "__contains__", "__reversed__", "__call__")


class Opaque:
    """Base of values that support few operations."""

    noun = "a value"

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedStep(f"a step reads {name} of {type(self).noun}")


for _name, _method in _refusing(*_ARITHMETIC, *_ORDER, *_SHOWING, *_CONTAINING, "__bool__", "__eq__", "__ne__").items():
    setattr(Opaque, _name, _method)


class NumberOfProcesses(Opaque):
    """Supports no operation."""

    noun = "the number of processes"


@dataclass
class Path:
    """One path through a step: the outcomes of its conditions."""

    answers: list[bool]
    #: The rank of a process, if processes have one.
    rank: Callable[[Term], Term] | None
    conditions: list[Term] = field(default_factory=list)
    #: The oldest elements, as messages, of the queues found non-empty.
    oldest: list[Term] = field(default_factory=list)
    asked: int = 0
    #: No conditions within a comprehension over a queue: it has any number of elements.
    within_queue: bool = False

    def decide(self, yes: Sequence[Term], no: Sequence[Term]) -> bool:
        if self.within_queue:
            raise UnsupportedStep("a step asks something of each element of a queue")
        if self.asked == len(self.answers):
            self.answers.append(True)
        answer = self.answers[self.asked]
        self.asked += 1
        self.conditions += yes if answer else no
        return answer

    def holds(self, term: Term) -> bool:
        return self.decide([term], [z3.Not(term)])


#: The most paths of one step; a step with more is refused.
MAX_PATHS = 200


def every_path(step: Callable[[Path], Any], rank: Callable[[Term], Term] | None) -> list[tuple[Path, Any]]:
    """All paths through a step, with the result of each."""
    found: list[tuple[Path, Any]] = []
    answers: list[bool] | None = []
    while answers is not None:
        path = Path(answers, rank)
        try:
            found.append((path, step(path)))
        except WrongMachine:
            raise
        except (AssertionError, AttributeError, IndexError, KeyError, NameError, TypeError, ValueError) as error:
            raise UnsupportedStep(f"a step raises {error_line(error)}") from error
        if len(found) > MAX_PATHS:
            raise UnsupportedStep(f"a step has more than {MAX_PATHS} paths")
        answers = list(path.answers)
        while answers and not answers[-1]:
            answers.pop()
        answers = [*answers[:-1], False] if answers else None
    return found


class Truth(Opaque):
    """A truth value: Python's `if` takes both branches, one after the other."""

    noun = "a truth"

    def __init__(self, term: Term, path: Path) -> None:
        self.term, self.path = term, path

    def __bool__(self) -> bool:
        return self.path.holds(self.term)


class _Symbol(Opaque):
    def __init__(self, term: Term, path: Path) -> None:
        self.term, self.path = term, path

    def _same(self, other: object) -> Truth | bool:
        if other is None:
            return False
        if type(other) is not type(self):
            raise UnsupportedStep(f"a step compares {self.noun} with something else")
        return Truth(self.term == other.term, self.path)

    def __eq__(self, other: object) -> Any:
        return self._same(other)

    def __ne__(self, other: object) -> Any:
        same = self._same(other)
        return Truth(z3.Not(same.term), self.path) if isinstance(same, Truth) else True

    __hash__ = None  # type: ignore[assignment]


def _by_rank(operation: Callable[[Term, Term], Term]) -> "Callable[[ProcessSymbol, object], Truth]":
    """The comparison of two processes by size, if the protocol ranks them."""

    def compared(self: "ProcessSymbol", other: object) -> Truth:
        if self.path.rank is None:
            raise UnsupportedStep("a step compares processes by size")
        if not isinstance(other, ProcessSymbol):
            raise UnsupportedStep("a step compares a process with something else")
        return Truth(operation(self.path.rank(self.term), self.path.rank(other.term)), self.path)

    return compared


class ProcessSymbol(_Symbol):
    noun = "a process"

    __lt__ = _by_rank(operator.lt)
    __le__ = _by_rank(operator.le)
    __gt__ = _by_rank(operator.gt)
    __ge__ = _by_rank(operator.ge)


class MessageSymbol(_Symbol):
    noun = "a message"
    readable = frozenset({"sender", "receiver"})

    def __init__(self, term: Term, path: Path, sender: ProcessSymbol, receiver: ProcessSymbol) -> None:
        super().__init__(term, path)
        self.sender, self.receiver = sender, receiver


class Stretch(NamedTuple):
    """Any number of elements: the messages inside, in order of arrival."""

    inside: Callable[[Term], Term]
    at: Callable[[Term], Term]
    #: The element that represents a message.
    element: Callable[[Term], Any]

    def without(self, message: Term) -> "Stretch":
        return self._replace(inside=lambda x: z3.And(self.inside(x), x != message))


class One(NamedTuple):
    """A single element."""

    value: Any


class Queue(Opaque):
    """Pieces, oldest first."""

    noun = "a queue"

    def __init__(self, pieces: Iterable[Stretch | One], path: Path, message: Term) -> None:
        self.pieces, self.path, self.message = list(pieces), path, message

    def __bool__(self) -> bool:
        """Splits off the oldest element, if there is one."""
        while self.pieces:
            first = self.pieces[0]
            if isinstance(first, One):
                return True
            oldest, x = z3.FreshConst(self.message, "oldest"), z3.FreshConst(self.message, "x")
            is_oldest = z3.ForAll([x], z3.Implies(first.inside(x), first.at(oldest) <= first.at(x)))
            empty = z3.ForAll([x], z3.Not(first.inside(x)))
            if self.path.decide([first.inside(oldest), is_oldest], [empty]):
                self.path.oldest.append(oldest)
                self.pieces[:1] = [One(first.element(oldest)), first.without(oldest)]
                return True
            del self.pieces[0]
        return False

    def without_oldest(self) -> "tuple[Any, Queue]":
        if not self:
            raise UnsupportedStep("a step takes the oldest element of a queue that may be empty")
        first, *rest = self.pieces
        assert isinstance(first, One)
        return first.value, Queue(rest, self.path, self.message)


# -- a machine's own code on them --------------------------------------------------------------------------------------


def _attribute(where: str, of: Any, name: str) -> Any:
    try:
        return attribute(of, name)
    except LookupError:
        noun = of.noun if isinstance(of, Opaque) else f"something of the type {type(of).__name__}"
        raise UnsupportedStep(f"{where}: a step reads {name} of {noun}") from None


def _unpacked(_: str, some: Any, before: int) -> list[Any]:
    """`a, b, *rest = some`, which would turn it into a plain list."""
    if not isinstance(some, Queue):
        some = list(some)
        if len(some) < before:
            raise ValueError("not enough values to unpack")
        return [*some[:before], some[before:]]
    taken = []
    for _number in range(before):
        value, some = some.without_oldest()
        taken.append(value)
    return [*taken, some]


def _display(_: str, make: Callable[[list[Any]], Any], *parts: tuple[bool, Any]) -> Any:
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


def _whole(_: str, make: Callable[[Any], Any], *some: Any) -> Any:
    """`tuple(some)` or `list(some)`."""
    return some[0] if some and isinstance(some[0], Queue) else make(*some)


def _of_each(_: str, value: Callable[[Any], Any], some: Any) -> Any:
    """`[value for element in some]`."""
    if not isinstance(some, Queue):
        return [value(each) for each in some]

    def each(stretch: Stretch) -> Stretch:
        x = z3.FreshConst(some.message, "x")
        outer, some.path.within_queue = some.path.within_queue, True
        try:
            made = value(stretch.element(x))  # evaluated now: the variables may later denote something else
        finally:
            some.path.within_queue = outer
        return stretch._replace(element=lambda y: _with(made, x, y))

    pieces = [One(value(piece.value)) if isinstance(piece, One) else each(piece) for piece in some.pieces]
    return Queue(pieces, some.path, some.message)


def _with(value: Any, x: Term, y: Term) -> Any:
    """The value made from message x, made from y instead."""
    if isinstance(value, MessageSymbol):
        return MessageSymbol(
            z3.substitute(value.term, (x, y)), value.path, _with(value.sender, x, y), _with(value.receiver, x, y)
        )
    if isinstance(value, ProcessSymbol):
        return ProcessSymbol(z3.substitute(value.term, (x, y)), value.path)
    if isinstance(value, tuple):
        return like(value, [_with(part, x, y) for part in value])
    if value is None or isinstance(value, bool | int | str):
        return value
    raise UnsupportedStep(f"a step makes something of the type {type(value).__name__} of each element of a queue")


class OnQueues(Reader):
    """Redirects the unpacking of a queue: Python would make a plain list of it before the queue could object."""

    allowed = (
        *(ast.FunctionDef, ast.Return, ast.Assign, ast.AnnAssign, ast.Assert, ast.Raise, ast.Expr, ast.arguments),
        *(ast.If, ast.For, ast.Break, ast.Continue, ast.Pass, ast.IfExp, ast.BoolOp, ast.And, ast.Or, ast.Not, ast.arg),
        *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Lambda, ast.Load, ast.Store, ast.UnaryOp),
        *(ast.ListComp, ast.comprehension, ast.Tuple, ast.List, ast.Starred, ast.Subscript, ast.Slice),
        *(ast.BinOp, ast.Add, ast.Sub, ast.USub, ast.Compare, ast.cmpop),
    )
    builtins = Reader.builtins | {"bool", "AssertionError"}
    hooks: ClassVar[Mapping[str, Callable[..., Any]]] = {
        "__attribute": _attribute,
        "__unpacked": _unpacked,
        "__display": _display,
        "__whole": _whole,
        "__of_each": _of_each,
    }

    @classmethod
    def refused(cls, where: str, reason: str, hint: str = "") -> UnsupportedStep:
        return UnsupportedStep(f"{where}: {reason}")

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: N802
        super().visit_Assign(node)
        (target, *more) = node.targets
        if isinstance(target, ast.Tuple | ast.List) and any(isinstance(each, ast.Starred) for each in target.elts):
            *first, last = target.elts
            if more or not isinstance(last, ast.Starred) or any(isinstance(each, ast.Starred) for each in first):
                self.refuse(node, "a queue is taken apart other than at its oldest element")
            names = ast.Tuple([*first, last.value], ast.Store())
            unpacked: Any = self.redirected("__unpacked", node, node.value, ast.Constant(len(first)))
            return ast.copy_location(ast.Assign([names], unpacked), node)
        return node

    def _starred(self, node: ast.Tuple | ast.List) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store) or not any(isinstance(each, ast.Starred) for each in node.elts):
            return node
        parts: list[ast.expr] = []
        for each in node.elts:
            starred = isinstance(each, ast.Starred)
            value = each.value if isinstance(each, ast.Starred) else each
            parts.append(ast.Tuple([ast.Constant(starred), value], ast.Load()))
        make = "tuple" if isinstance(node, ast.Tuple) else "list"
        return self.redirected("__display", node, ast.Name(make, ast.Load()), *parts)

    visit_Tuple = visit_List = _starred  # noqa: N815

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:  # noqa: N802
        self.generic_visit(node)
        (over, *more) = node.generators
        if more or over.ifs or not isinstance(over.target, ast.Name):
            return node
        arguments = ast.arguments([], [ast.arg(over.target.id)], None, [], [], None, [])
        return self.redirected("__of_each", node, ast.Lambda(arguments, node.elt), over.iter)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        whole = isinstance(node.func, ast.Name) and node.func.id in ("tuple", "list") and not node.keywords
        match node.args:
            case [ast.GeneratorExp(value, over)] if whole:  # consumed at once
                node.args = [ast.copy_location(ast.ListComp(value, over), node)]
        visited = super().visit_Call(node)
        return self.redirected("__whole", node, node.func, *node.args) if whole else visited
