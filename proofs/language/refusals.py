"""One-line refusals of machines that a proof cannot judge: such a machine is neither proved nor refuted."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import z3

from crownless.impl.protocol import ProtocolMachine, WrongAnswer
from crownless.spec.errors import BadInput

HINT = "a proof runs the transitions on terms of z3: compute with self.ops (every, all_of, maximum, one_if, among)"


class Refused(BadInput, TypeError):
    """The machine does something that z3 would not see, or not see rightly."""


def refuse(reason: str, hint: str = HINT) -> NoReturn:
    """Raises `Refused`."""
    raise Refused(reason, hint=hint)


@contextmanager
def failures_refused(protocol: type[ProtocolMachine], *passed: type[Exception]) -> Iterator[None]:
    """What the machine's own code raises is refused; `passed` and all that others raise goes on as it is."""
    try:
        yield
    except (BadInput, WrongAnswer, z3.Z3Exception, *passed):
        raise
    except Exception as error:
        own = {kind.__module__ for kind in protocol.__mro__[: protocol.__mro__.index(ProtocolMachine)]}
        ran = {frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)}
        if isinstance(error, MemoryError) or ran.isdisjoint(own):
            raise
        reason = " ".join(str(error).split()) or "without a word"
        raise Refused(
            f"{protocol.__name__}: its code fails when it is compared with what is proved: "
            f"{type(error).__name__}: {reason}",
            hint="check it first",
        ) from error
