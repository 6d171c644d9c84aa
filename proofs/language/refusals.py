"""One-line refusals of machines that a proof cannot judge: such a machine is neither proved nor refuted."""

from typing import NoReturn

from crownless.runtime.errors import BadInput

HINT = "a proof runs the transitions on terms of z3: compute with self.ops (every, all_of, maximum, one_if, among)"


class Refused(BadInput, TypeError):
    """The machine uses an operation that z3 would not see, or would misread. `where`: function and line, if known."""

    def __init__(self, reason: str, *, hint: str = "", where: str = "") -> None:
        super().__init__(f"{where}: {reason}" if where else reason, hint=hint)
        self.where = where


def refuse(reason: str, hint: str = HINT) -> NoReturn:
    """Raises `Refused`."""
    raise Refused(reason, hint=hint)
