"""Variants of protocols: a protocol with named pieces overridden."""

from types import FunctionType
from typing import Any, TypeVar, cast

from .protocol import ProtocolMachine

M = TypeVar("M", bound=type[ProtocolMachine])


def variant(base: M, name: str = "", **overrides: Any) -> M:
    """The protocol with these methods and facts overridden; each must be one that it has."""
    unknown = [piece for piece in overrides if not hasattr(base, piece)]
    assert not unknown, f"{base.__name__} has no {', '.join(unknown)} to override"
    for piece, value in overrides.items():
        if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
            value.__name__ = piece
    return cast("M", type(name or base.__name__, (base,), {"__doc__": base.__doc__, **overrides}))
