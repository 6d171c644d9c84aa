"""The JSON, the `repr` and the data frame of results, each derived from what the class of the result declares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from crownless.runtime.printable import in_brackets
from crownless.spec.dataframes import data_frame

if TYPE_CHECKING:
    from crownless.spec.dataframes import DataFrame


class Result:
    """A result or a part of one: a subclass declares its keys, and may say what it is, `brief`."""

    #: The keys of its JSON, in their order: each an attribute, or `key=attribute`, where dots lead to parts. One that
    #: ends in `?` is left out where it is None or an empty tuple. Those called `seconds` have three places.
    json_keys: ClassVar[str] = ""

    def __init_subclass__(cls, **facts: Any) -> None:
        super().__init_subclass__(**facts)
        if "brief" in vars(cls) and "__repr__" not in vars(cls):
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]  # else a dataclass would write its own

    @property
    def brief(self) -> str:
        """What it says in a few words."""
        return type(self).__name__

    def __repr__(self) -> str:
        return in_brackets(self.brief)

    def json(self) -> dict[str, Any]:
        """The result under the stable keys of the command line."""
        found = {}
        for word in self.json_keys.split():
            key, _, path = word.removesuffix("?").partition("=")
            value = _reached(self, path or key)
            if not (word.endswith("?") and (value is None or value == ())):
                found[key] = round(value, 3) if key == "seconds" else plain(value)
        return found


class Table(ABC):
    """A result that is a table, too."""

    @abstractmethod
    def rows(self) -> Iterable[Mapping[str, Any]]:
        """The rows of its table."""

    def to_pandas(self) -> DataFrame:
        """The `rows` of its table as a data frame; raises `BadInput` if pandas is not installed."""
        return data_frame(self.rows())


def _reached(value: Any, path: str) -> Any:
    """Part by part; None as soon as a part is None."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def plain(value: Any) -> Any:
    """The value as JSON has it, results by their keys."""
    if hasattr(value, "json"):
        return value.json()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
