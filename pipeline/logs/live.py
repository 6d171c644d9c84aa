"""Live event logs: a verdict as soon as a run breaks an order, and all others when the run has ended.

Events may come late, twice, and in any order. What has come of a run is kept until nothing more has come of it for
some time (`patience`): then it has ended, and is judged as `event_logs` judges a run. Before that, only what cannot
be undone is told: an order that is broken by the events before the first one missing on each line, messages not
delivered being read as still to be delivered. An event is held back until those before it on its line, and the send
of what it delivers, are there: late events are put where their `index` says.

A copy of an event is told as such, once it comes. So is what comes after a run has ended; for how long that is
remembered is `memory`. A straggler after that is a run of its own, with a hole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from crownless.spec.errors import BadInput
from crownless.spec.orders import Reading

from .answers import HOLE, JUDGED, QUARANTINE, TOLD, VERDICT, Question
from .rows import NOWHERE, plain, said
from .runs import RunJudged, judge_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row

#: Seconds without an event after which a run has ended; and for which it is remembered that it has.
PATIENCE, MEMORY = 60.0, 3600.0

Told = dict[str, Any]
_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass
class Live:
    """What has come of a run, as lines of JSON; which orders are known to be broken; has it ended?"""

    lines: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    ended: bool = False

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> Live:
        return cls(**json.loads(text))


def more(live: Live, run: str, lines: Iterable[str], question: Question, *, first: int = 0) -> Iterator[Told]:
    """More events of a run have come: what that tells. `first` is the index of the first event of a line."""
    known = {_fields(line) for line in live.lines}
    for line in lines:
        if live.ended:
            yield _told(run, about=QUARANTINE, row=line, because="it came after the run had ended", rows=1)
        elif _fields(line) in known:
            yield _told(run, about=QUARANTINE, row=line, because="a copy of an earlier event", rows=1)
        else:
            known.add(_fields(line))
            live.lines.append(line)
    asked = [order for order in question.orders if order not in live.broken]
    if live.ended or not asked:
        return
    certain = _certain(live.lines, first)
    if not certain:
        return
    for judgement in judge_run(run, certain, asked, "pending").judgements:
        if judgement.verdict == "broken":
            live.broken.append(judgement.order)
            yield _verdict(run, judgement.order, "broken", judgement.witness, None)


def end(live: Live, run: str, question: Question) -> Iterator[Told]:
    """Nothing more comes of a run: the verdicts that are not told yet, and what is wrong with its events."""
    found: RunJudged = judge_run(run, live.lines, question.orders, question.reading)
    for judgement in found.judgements:
        if judgement.order not in live.broken and run != NOWHERE:
            yield _verdict(run, *judgement)
    for text, reason in found.quarantine:
        yield _told(run, about=QUARANTINE, row=text, because=reason, rows=1)
    for hole in found.holes:
        yield _told(run, about=HOLE, because=hole)
    yield _told(None, about=JUDGED, rows=found.judged)
    live.lines, live.broken, live.ended = [], [], True


def _certain(lines: Iterable[str], first: int) -> list[str]:
    """Of each line the events before the first one missing, each deliver after its send: nothing comes between."""
    by_process: dict[str, dict[int, tuple[str, dict[str, Any]]]] = {}
    for line in lines:
        try:
            fields = json.loads(line)
            process, index = fields["process"], fields["index"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(process, str) and type(index) is int:
            if index in by_process.setdefault(process, {}):
                return []  # two events in one place: which of them is right is not for now
            by_process[process][index] = (line, fields)
    ends = dict.fromkeys(by_process, first)
    sent: set[Any] = set()
    moved = True
    while moved:
        moved = False
        for process, events in by_process.items():
            while ends[process] in events:
                _, fields = events[ends[process]]
                if fields.get("kind") in ("deliver", "receive") and fields.get("message") not in sent:
                    break
                if fields.get("kind") == "send" and isinstance(fields.get("message"), (str, int)):
                    sent.add(fields["message"])
                ends[process] += 1
                moved = True
    # Counted from 0, so that it does not matter from where the log counts.
    return [
        json.dumps({**fields, "index": index - first})
        for process, events in by_process.items()
        for index, (_, fields) in events.items()
        if index < ends[process]
    ]


def _fields(line: str) -> str:
    try:
        fields = json.loads(line)
    except ValueError:
        return line
    return json.dumps(fields, sort_keys=True)


def _verdict(run: str, order: str, verdict: str, witness: str | None, because: str | None) -> Told:
    return _told(run, about=VERDICT, order=order, verdict=verdict, witness=witness, because=because)


def _told(run: str | None, **said: Any) -> Told:
    return dict[str, Any].fromkeys(_NAMES) | {"run": None if run == NOWHERE else run} | said


_NAMES = [part.split()[0] for part in TOLD.split(", ")]


def judge_live(
    events: DataFrame,
    orders: Sequence[str] = (),
    reading: Reading = "lost",
    *,
    patience: float = PATIENCE,
    memory: float = MEMORY,
    first: int = 0,
) -> DataFrame:
    """A stream of what is told of a stream of events: a table as `event_logs.Judged.everything`, in append mode.

    Sets the state store of the session to RocksDB, which Spark asks for here. While runs have not ended the stream goes
    on by itself, to look at the clock: give it a trigger (``trigger(processingTime="5 seconds")``), and do not wait
    for it to have processed all. Raises `BadInput` without the package that PySpark's workers need for state.
    """
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise BadInput("PySpark keeps state with the help of protobuf, which is missing", mend="pip install protobuf")
    question = Question.of(orders, reading, witnesses=True)
    events.sparkSession.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKS_DB)

    class Runs(StatefulProcessor):
        """Spark's side of it: state and timers of each run."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.state = handle.getValueState("live", "live string")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            kept = self.state.get()
            live = Live() if kept is None else Live.unpacked(kept[0])
            lines = [said(row.asDict()) for row in rows]
            yield from map(_row, more(live, key[0], lines, question, first=first))
            self.state.update((live.packed(),))
            if not live.ended:
                self._wake_in(patience, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
            kept = self.state.get()
            if kept is None:
                return
            live = Live.unpacked(kept[0])
            if live.ended:
                self.state.clear()
                return
            yield from map(_row, end(live, key[0], question))
            self.state.update((live.packed(),))
            self._wake_in(memory, timerValues)

        def _wake_in(self, seconds: float, timers: Any) -> None:
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(timers.getCurrentProcessingTimeInMs() + int(1000 * seconds))

        def close(self) -> None:
            pass

    runs = plain(events).groupBy("run")
    return runs.transformWithState(Runs(), TOLD, outputMode="Append", timeMode="ProcessingTime")


def _row(told: Told) -> Row:
    from pyspark.sql import Row

    return Row(**{name: told[name] for name in _NAMES})
