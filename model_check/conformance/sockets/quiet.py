"""The end of an answer: all of the node is asleep, nothing is left for it to take, and no timer is set.

If every thread was asleep at two looks, and none was put on a processor in between, all were asleep at once: only what
comes from outside wakes them, or a timer. Linux shows for how long a thread waits. Waits of up to `settle` seconds are
let go by, each twice, as nobody knows whether the node will say something then; longer ones are left aside.
"""

from __future__ import annotations

import time
from typing import Literal

from .looks import Look, look_at, unread_port

#: Seconds between two looks, and how many in a row must be alike.
LOOK_EVERY, LOOKS = 0.001, 3
#: So often the longest wait of a node with timers must have gone by with nothing said, and at least so many seconds.
TURNS, LEAST = 2, 0.01
#: A node that spends more of that time than this on processors is at work.
BUSY = 0.5

#: How an answer ended: all was asleep, or so was a node with timers, and nothing came in the time that they take.
Ending = Literal["at rest", "by time"]


class Quiet:
    """Watches the program that was started as this process."""

    def __init__(self, process: int, settle: float) -> None:
        self._process = process
        self._settle = settle
        #: As it was when the last answer ended.
        self._before: Look | None = None
        self._last: Look | None = None
        self._alike = 0
        self._since, self._ran = time.monotonic(), 0
        self._longest = 0.0
        #: Why it has not ended its answer, in words.
        self.why = ""
        #: Was a timer left aside that will ring later?
        self.later = False

    @property
    def files(self) -> frozenset[str]:
        """The files that it had when it was quiet."""
        return frozenset() if self._last is None else self._last.files

    def begin(self) -> None:
        """It gets an input now."""
        self._before, self._last = self._last, None
        self.spoke()

    def spoke(self) -> None:
        """It has said something."""
        self._since, self._longest, self._alike = time.monotonic(), 0.0, 0
        self._ran = self._last.ran if self._last is not None else 0 if self._before is None else self._before.ran

    def look(self) -> Ending | None:
        """Looks at it: how has its answer ended? None: it has not."""
        look, last = look_at(self._process, self._settle), self._last
        now, self._last = time.monotonic(), look
        if look.runs:
            self._alike = 0
            self.why = "is still running"
            return None
        self._alike = self._alike + 1 if last is not None and last.threads == look.threads else 0
        if self._before is not None and look.threads == self._before.threads:
            self.why = "takes no notice of it"
            return None
        if look.longest is None:
            self.why = "has not come to rest"
            return self._if_all_is_read(look, "at rest") if self._alike >= LOOKS - 1 else None
        self._longest = max(self._longest, look.longest)
        gone = now - self._since
        busy = look.ran - self._ran > BUSY * gone * 1e9
        self.why = "is still at work" if busy else "has a timer running"
        return self._if_all_is_read(look, "by time") if not busy and gone >= max(LEAST, TURNS * self._longest) else None

    def _if_all_is_read(self, look: Look, ending: Ending) -> Ending | None:
        if (port := unread_port(look)) is not None:
            self.why = f"does not take what came to its port {port}"
            return None
        self.later = self.later or look.later
        return ending
