"""Early answers: the limits of a first try in plain Python, and violations reported while a long search goes on.

The native engine takes half a second to load, and half a minute to compile where it never ran. A search of a few
thousand states has ended by then: unless an engine, workers, reductions or a directory are named, the plain explorer
has a first try, within so many states and seconds; a search that grows beyond is started over by the native one. Where
so many sends can be chosen that it will surely grow, the first try is short: what is violated after a few actions is
known before anything is compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import log

from crownless.impl.workloads import Free, Workload
from crownless.runtime.ending import Limits, states_are_reached
from crownless.spec.printable import some

from .exploration import Exploration, Progress
from .properties import Property

#: A first try in plain Python ends beyond so many states, or seconds of processor time.
FIRST_TRY_STATES, FIRST_TRY_SECONDS = 10_000, 1.0
#: The same where it will surely not come to its end.
FIRST_TRY_STATES_IF_LARGE, FIRST_TRY_SECONDS_IF_LARGE = 1_000, 0.1
#: With more sequences of sends in the free workload than these, there are mostly more states.
FIRST_TRY_SENDS = 5_000
#: Seconds after which a search reports a violation before its end.
REPORTED_AFTER = 1.0

_GREW = "the search grows"


@dataclass(frozen=True)
class FirstTryLimits(Limits):
    """The limits of a first try, within those that were given."""

    #: In processor time, so that a busy machine does not change which engine answers.
    processor_seconds: float = FIRST_TRY_SECONDS
    #: Does the first try end with fewer states than are allowed?
    has_fewer: bool = False
    _began: float = field(default_factory=time.process_time, init=False, repr=False, compare=False)

    @classmethod
    def within(cls, given: Limits, workload: Workload) -> FirstTryLimits:
        small = may_stay_small(workload)
        states, seconds = FIRST_TRY_STATES, FIRST_TRY_SECONDS
        if not small:
            states, seconds = FIRST_TRY_STATES_IF_LARGE, FIRST_TRY_SECONDS_IF_LARGE
        has_fewer = given.states is None or given.states > states
        most = states if has_fewer else given.states
        return cls(most, given.seconds, given.memory, given.spent, processor_seconds=seconds, has_fewer=has_fewer)

    def reached(self, seconds: float) -> str | None:
        reached = super().reached(seconds)
        if reached is None and time.process_time() - self._began > self.processor_seconds:
            return _GREW
        return reached

    def ended(self, found: Exploration) -> bool:
        """True if it is for these limits that the search ended early, and not for those that were given."""
        at_most = self.states
        return found.stopped == _GREW or (
            self.has_fewer and at_most is not None and found.stopped == states_are_reached(at_most)
        )


def may_stay_small(workload: Workload) -> bool:
    """True if a first try may come to an end, by how many sequences of sends there are in a free workload."""
    if not isinstance(workload, Free):
        return True
    return workload.messages * log(max(1, len(workload.channels))) <= log(FIRST_TRY_SENDS)


class EarlyReports:
    """The progress of a search, which reports each violation once as soon as it is known, if the search takes long."""

    def __init__(self, report: Callable[[str], None], protocol: str, properties: Iterable[Property]) -> None:
        self._report = report
        self._protocol = protocol
        self._properties = {known.name for known in properties}
        self._reported: set[str] = set()
        self._began = time.monotonic()
        #: Are the levels of the search those of shortest runs?
        self.exact = True

    def around(self, progress: Progress | None) -> Progress:
        """The same progress, with reports."""

        def reporting(found: Exploration, level: int) -> None:
            if time.monotonic() - self._began > REPORTED_AFTER:
                self.report(found)
            if progress is not None:
                progress(found, level)

        return reporting

    def report(self, found: Exploration) -> None:
        """Reports what is known by now."""
        lengths: dict[int, list[str]] = {}
        for name, length in found.broken.items():
            if name in self._properties and name not in self._reported:
                self._reported.add(name)
                lengths.setdefault(length, []).append(name)
        for length, names in sorted(lengths.items()):
            by = f", by a run of {some(length, 'action')}" if self.exact else ""
            self._report(f"{self._protocol}: violated: {' and '.join(names)}{by}; still searching…")
