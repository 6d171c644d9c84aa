"""The levels of a search: where their rows lie, and who expands them.

In this process's memory (`levels_in_memory`), or on Spark (`pipeline.exploration`). Both share the tables, which the
search fills.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from . import kernels, row_set_kernels

if TYPE_CHECKING:
    from .search import NativeSearch


class Levels:
    """The levels of one search, for which it is made."""

    def __init__(self, search: NativeSearch) -> None:
        self._search = ref(search)

    @property
    def search(self) -> NativeSearch:
        """The search, which owns this: the rows go with it, without waiting for the collector."""
        search = self._search()
        assert search is not None
        return search

    def made_tables(self) -> None:
        """Called when the search has new tables, empty ones."""

    def at_work(self) -> AbstractContextManager[None]:
        """Entered around the search."""
        return nullcontext()

    def start(self) -> None:
        """The initial state alone is in the next level."""
        raise NotImplementedError

    def turn(self) -> bool:
        """The next level becomes this one; returns whether it has rows."""
        raise NotImplementedError

    def expand(self) -> None:
        """Expands the rows of this level, what was missed of the tables too; ends early where the search is `over`."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Called where memory is short: what the search needs no more, now that it ends."""

    def owners_of(self, rows: Any, layout: kernels.Layout) -> Any:
        """The owner of each row, one of the workers."""
        owners = np.zeros(len(rows), np.int64)
        room = np.zeros(len(layout.word), np.int64)
        row_set_kernels.owners_of(rows, layout, self.search.n, self.search.workers, room, owners)
        return owners

    # -- what is saved -------------------------------------------------------------------------------------------------

    @property
    def saving(self) -> Any:
        """The directory in which the search is saved, whose `saved` is what it starts from; None: it is not saved."""
        raise NotImplementedError

    def began(self) -> None:
        """Called where a level begins, which is the time to save it."""
        raise NotImplementedError

    def save(self) -> None:
        """Called where the search ends early: saves this level as it began, unless it is saved."""

    def resume(self) -> None:
        """Continues, once, from what is saved, if anything is."""
        saving = self.saving
        if saving is not None and saving.saved is not None:
            self.restore(saving)
            saving.saved = None

    def restore(self, saving: Any) -> None:
        """The tables and rows that are saved there; refused if the protocol's code is not what it was."""
        raise NotImplementedError
