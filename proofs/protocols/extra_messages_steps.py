"""Each step of the extra-message machine is a proved step, after any number of messages (`OneMessagePerStep`).

Three comparisons, none of which inspects the counts:

- *sending and receiving*, for any number of processes: the code runs on tokens. It may pass a matrix only to the
  updates, the guard, the encoding and the clearing; so it treats every matrix alike.
- *encoding*, up to `PROCESSES`: each matrix, by its set of zero entries, is decoded to itself. Non-zero entries are
  tokens that can only be tested for truth.
- *clearing*, up to `PROCESSES`: for each matrix, likewise, and any threshold, the clearing does nothing, or sends one
  column of at least two entries to its process, and clears the remaining matrix. So by induction it ends, and has sent
  one extra message after another.

Its code is read (`machine_code`): operations that could distinguish a token from a number are refused. It is not shown
that encoding and clearing are uniform beyond `PROCESSES`; code that reads the number of processes other than to iterate
over them is refused.
"""

import ast
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from crownless.impl.protocol import AppEvent, Packet, Step, checked_columns
from crownless.impl.protocols.extra_messages import ExtraMessages, State
from crownless.proofs.induction.step_refinement import Compared
from crownless.proofs.language.machine_code import UNREAD, Reader, compiled_anew
from crownless.proofs.language.symbolic_queues import Opaque, Path, UnsupportedStep, every_path
from crownless.runtime.printable import error_line

#: Encoding and clearing are compared up to this many processes.
PROCESSES = 4


class _Token(Opaque):
    """An uninterpreted result of a function of these arguments."""

    noun = "a matrix"

    def __init__(self, name: str, *arguments: Any) -> None:
        self.name, self.arguments = name, arguments


class _Process(Opaque):
    noun = "a process"


class _Message(Opaque):
    noun = "a message"

    def __init__(self) -> None:
        self.sender, self.receiver = _Process(), _Process()


class _Count(Opaque):
    """A number that is not zero."""

    noun = "an entry"

    def __hash__(self) -> int:
        """Paths are put into a set before they are sorted. The same for all tokens, so that a set must compare two
        entries for equality, which is refused.
        """
        return 0

    def __bool__(self) -> bool:
        return True


class _Threshold(Opaque):
    noun = "the number of processes"


def same_steps(protocol: type[ExtraMessages]) -> tuple[Compared, ...]:
    """Compares the steps; raises `UnsupportedStep` if the machine uses an unsupported operation."""
    protocol = compiled_anew(protocol, OnTokens)  # type: ignore[assignment]
    differs = _sends_and_receives(protocol)
    once = clearing_once(protocol)

    def differs_at(n: int, i: int, matrix: Any) -> str | None:
        try:
            return _encodes(protocol(n), matrix) or _clears(once, n, i, matrix)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            return f"of {n} processes P{i + 1} encodes or clears in a way that cannot be read: {error_line(error)}"

    compared = []
    for n in range(2, PROCESSES + 1):
        matrices = 0
        for i in range(n):
            for matrix in _matrices(n, i):
                matrices += 1
                differs = differs or differs_at(n, i, matrix)
        compared.append(Compared(n, matrices, differs))
    return tuple(compared)


def _matrices(n: int, i: int) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """Each matrix that process i may have, by its set of zero entries; its own column is zero."""
    for there in product((False, True), repeat=n * (n - 1)):
        entries = iter(there)
        yield tuple(tuple(_Count() if l != i and next(entries) else 0 for l in range(n)) for _ in range(n))


# -- reading -----------------------------------------------------------------------------------------------------------


class OnTokens(Reader):
    """Supports most of Python, except operations that could distinguish a token from a number, or one number of
    processes from others.
    """

    allowed = (
        *(ast.FunctionDef, ast.Return, ast.Assign, ast.AnnAssign, ast.Assert, ast.Raise, ast.Expr, ast.arguments),
        *(ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Pass, ast.IfExp, ast.BoolOp, ast.And, ast.Or),
        *(ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Lambda, ast.Load, ast.Store, ast.arg),
        *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Starred, ast.Subscript),
        *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Slice, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop),
        *(ast.Compare, ast.cmpop),
    )
    builtins = Reader.builtins | {
        *("all", "any", "bool", "dict", "enumerate", "frozenset", "int", "len", "map", "max", "min", "range"),
        *("reversed", "set", "sorted", "sum", "zip"),
    }
    unread = UNREAD - {"setting"}

    @classmethod
    def refused(cls, where: str, reason: str, hint: str = "") -> UnsupportedStep:
        return UnsupportedStep(f"{where}: {reason}")

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        if node.attr in ("n", "format", "format_map"):
            self.refuse(node, f"it reads {node.attr}" + " other than as range(self.n)" * (node.attr == "n"))
        return super().visit_Attribute(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802
        match node:
            case ast.Call(ast.Name("range"), [ast.Attribute(ast.Name(), "n")]):
                return node
        return super().visit_Call(node)

    def redirected(self, hook: str, node: ast.AST, *arguments: ast.expr) -> ast.AST:
        """Redirects nothing: tokens refuse unsupported operations, and numbers and tuples may be used freely."""
        return node

    def _fixed(self, node: ast.AST, name: str, value: Any) -> Any:
        return value if value is checked_columns else super()._fixed(node, name, value)


# -- sending and receiving ---------------------------------------------------------------------------------------------


def _sends_and_receives(protocol: type[ExtraMessages]) -> str | None:
    """How sending or receiving differs, as text; None if it does not."""

    class OnTokens(protocol):  # type: ignore[valid-type, misc]
        entries = staticmethod(lambda matrix: _Token("entries", matrix))
        matrix_of = staticmethod(lambda entries: _Token("matrix of", entries))
        after_sending = staticmethod(lambda i, state, j: _Token("after sending", i, *state, j))
        after_extra = staticmethod(lambda state, j: _Token("after extra", *state, j))
        after_delivering = staticmethod(lambda i, state, j, matrix: _Token("after delivering", i, *state, j, matrix))
        satisfied = staticmethod(lambda i, state, matrix: _Token("satisfied", i, *state, matrix))
        clearings = staticmethod(lambda i, state: [(_Token("cleared", i, state), [_Token("extra", i, state)])])

    number: Any = _Threshold()
    machine = OnTokens(number, number)
    state = State(_Token("matrix"), _Token("DELIV"))
    i: Any = _Process()
    j: Any = _Process()
    m: Any = _Message()

    def cleared(after: _Token, packets: Sequence[Packet], events: Sequence[AppEvent]) -> Step:
        more: Any = _Token("extra", i, after)
        return Step(_Token("cleared", i, after), [*packets, more], events)

    packet = Packet(j, i, "message", m, _Token("stamp"))
    extra = Packet(j, i, "extra", None, _Token("stamp"))
    delivering = _Token("after delivering", i, *state, j, _Token("matrix of", packet.stamp))
    expected: list[tuple[str, Any, Any]] = [
        (
            "sending",
            machine.send(i, state, m),
            [
                cleared(
                    _Token("after sending", i, *state, m.receiver),
                    [Packet(i, m.receiver, "message", m, _Token("entries", state.matrix))],
                    [AppEvent("send", m)],
                )
            ],
        ),
        ("delivering", machine.on_packet(i, state, packet), [cleared(delivering, [], [AppEvent("deliver", m)])]),
        ("receiving an extra message", machine.on_packet(i, state, extra), [Step(_Token("after extra", *state, j))]),
        *(
            (
                "the guard",
                machine.deliverable(i, state, each),
                _Token("satisfied", i, *state, _Token("matrix of", each.stamp)),
            )
            for each in (packet, extra)
        ),
        ("a request", machine.receive(i, state, None), ()),
        ("a request of a sender", machine.receive(i, state, j), ()),
        ("a step of its own", machine.internal(i, state), ()),
    ]
    return next((f"{name} differs" for name, found, wanted in expected if not _alike(found, wanted)), None)


def _alike(one: Any, other: Any) -> bool:
    """Structural equality; tokens are compared by their construction."""
    if isinstance(one, _Token) and isinstance(other, _Token):
        return one.name == other.name and _alike(one.arguments, other.arguments)
    if isinstance(one, Opaque) or isinstance(other, Opaque):
        return one is other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


# -- encoding and clearing ---------------------------------------------------------------------------------------------


def _encodes(machine: ExtraMessages, matrix: Any) -> str | None:
    back = machine.matrix_of(machine.entries(matrix))
    same = all(one is other for row, its in zip(back, matrix, strict=True) for one, other in zip(row, its, strict=True))
    return None if same else f"of {machine.n} processes a matrix does not come back as it was encoded"


class _After(tuple[int]):
    """The state after an extra message to that process."""

    __slots__ = ()


class _K(Opaque):
    """A threshold: any number of entries may be below it, or not."""

    noun = "the threshold"

    def __init__(self, path: Path) -> None:
        self.path = path

    def _asked(self, other: object) -> bool:
        return self.path.decide([], [])

    __lt__ = __le__ = __gt__ = __ge__ = _asked


def clearing_once(protocol: type[ExtraMessages]) -> type[ExtraMessages]:
    """The protocol with only its first clearing: the remaining matrix is cleared later."""

    class Once(protocol):  # type: ignore[valid-type, misc]
        begun = False
        k: Any = None

        def clearings(self, i: int, state: Any) -> Any:
            if self.begun:
                return [(state, (_LATER,))]
            self.begun = True
            return super().clearings(i, state)

        def after_sending(self, i: Any, state: Any, j: Any) -> Any:
            return _After((j,))

        def setting(self, name: str, i: int = 0) -> Any:
            return self.k

    return Once


def _clears(once: type[ExtraMessages], n: int, i: int, matrix: Any) -> str | None:
    """How one clearing differs at some threshold, given correct later clearings; None if it does not."""
    columns = [tuple((k, j, row[j]) for k, row in enumerate(matrix) if row[j]) for j in range(n)]
    state = State(matrix, ())

    def allowed(after: Any, packets: Any) -> bool:
        if after is state:
            return len(packets) == 0
        if type(after) is not _After or len(packets) != 2 or len(columns[after[0]]) < 2:
            return False
        later, extra = sorted(packets, key=lambda packet: packet.source)
        *way, stamp = extra
        return later is _LATER and way == [i, after[0], "extra", None] and stamp == columns[after[0]]

    def cleared(path: Path) -> list[Any]:
        machine: Any = once(n)
        machine.k = _K(path)
        return list(machine.clearings(i, state))

    for _, ways in every_path(cleared, None):
        if not ways:
            return f"of {n} processes P{i + 1} has no next step"
        if not all(allowed(after, packets) for after, packets in ways):
            return f"of {n} processes P{i + 1} does not clear one column after the other"
    return None


#: The extra messages that are sent later.
_LATER = Packet(-1, -1, "later")
