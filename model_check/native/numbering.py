"""Numbers of values that are renamed with the processes."""

from collections.abc import Callable, Hashable
from typing import Any

from crownless.impl.renaming import Renaming

from .columns import Column
from .symmetry import NotSymmetric, Renamings


class Numbering:
    """Values, numbered as they first occur. With a value all its renamings that leave process 0 in place are numbered,
    one after the other.
    """

    def __init__(self, renamings: Renamings, enter: Callable[[Any, int], None]) -> None:
        self._renamings = renamings
        #: Enters a new value; the number is that of the first of its renamings.
        self._enter = enter
        self._numbers: dict[Hashable, int] = {}
        #: [number · renamings + renaming]: the number of the renamed value.
        self.renamed = Column()
        #: Of each number: that of the first of its renamings.
        self.first: list[int] = []

    def known(self, key: Hashable) -> int:
        """The number of the value with this key, or -1."""
        return self._numbers.get(key, -1)

    def number(self, key: Hashable, value: Any, renamed: Callable[[Renaming], tuple[Hashable, Any]]) -> int:
        """The number of a value, by its key; `renamed` gives the key and the value after a renaming."""
        number = self.known(key)
        if number >= 0:
            return number
        number, *_ = images = [self._new(key, value, len(self.first))]
        for renaming in self._renamings.frames[1:]:
            key, value = renamed(renaming)
            image = self.known(key)
            images.append(self._new(key, value, number) if image < 0 else image)
        rows: dict[int, Any] = {}
        for image, follow in zip(images, self._renamings.composed, strict=True):
            row = follow(images)
            if image < number or rows.setdefault(image, row) != row:
                raise NotSymmetric("its `renamed` and `renamed_stamp` do not compose: two renamings are not one")
        for row in rows.values():
            self.renamed.extend(row)
        return number

    def after(self, numbers: Any, renaming: Any) -> Any:
        """The numbers of renamed values."""
        return self.renamed.array[numbers * len(self._renamings.frames) + renaming]

    def _new(self, key: Hashable, value: Any, first: int) -> int:
        number = self._numbers[key] = len(self.first)
        self.first.append(first)
        self._enter(value, first)
        return number
