"""One run too large for one executor: FIFO, causal, mailbox, one-n and synchronous order of millions of events.

All that looks at rows, lines, channels or messages by themselves is Spark's: which rows contradict each other, where
lines have holes, which send goes with which deliver, what is delivered before what. What is left, and cannot be cut
into independent parts, is to walk along the lines (`walks`): one task reads the events as numbers, stretch by
stretch of all lines, and holds what is not walked yet, the vector time of each process, and the messages under way.
How much that is depends on the run; if it becomes more than `most_held` rows, the verdicts still open are `unknown`.

Verdicts are those of `crownless classify`. Witnesses are genuine, not surely the smallest. n-n is decided only as far
as the other orders settle it. Runs of multicasts are not decided at all, nor, while messages not received may still be
(`pending`), synchronous and one-n order of a run that has such.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crownless.spec.orders import Reading

from .answers import Question
from .rows import BETWEEN, COLUMNS, plain
from .runs import Judgement
from .walks import TimedWalk, Walk

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, Row

#: At most so many events are held that cannot be walked yet, and so many messages under way, before it is given up.
MOST_HELD = 2_000_000
#: How many events are walked at once.
STRETCH = 200_000

_HOLES = "nothing in the log breaks it, but the log has holes"


@dataclass(frozen=True)
class OneRunJudged:
    """The verdicts on one run, the rows that could not be used (a DataFrame: row, reason), and what is missing."""

    judgements: tuple[Judgement, ...]
    quarantine: DataFrame
    holes: tuple[str, ...]
    rows: int
    judged: int
    quarantined: int
    #: The most events that were held at once, waiting for others.
    most_held: int = 0


def judge_one_run(
    events: DataFrame,
    orders: Sequence[str] = (),
    reading: Reading = "lost",
    *,
    most_held: int = MOST_HELD,
    stretch: int = STRETCH,
) -> OneRunJudged:
    """Judges the one run of these events; all seven orders unless some are named."""
    question = Question.of(orders, reading, witnesses=True)
    told = _told(plain(events)).persist()
    try:
        return _judged(told, question, most_held, stretch)
    finally:
        told.unpersist()


def _told(rows: DataFrame) -> DataFrame:
    """The rows with the reason why each cannot be used, if so (null for those that can)."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    kind = f.when(f.col("kind") == "receive", f.lit("deliver")).otherwise(f.col("kind")).alias("kind")
    rows = rows.select(*(kind if name == "kind" else name for name in COLUMNS))

    def no_name(name: str) -> Column:
        return f.col(name).isNull() | (f.col(name) == "") | f.col(name).rlike(r"[\p{Cntrl}&&[^\x1f]]")

    about = f.col("kind") != "internal"
    reason = (
        f.when(f.col("text").isNotNull(), "it cannot be read as an event")
        .when(no_name("process"), "'process' is missing or no name")
        .when(f.col("index").isNull() | (f.col("index") < 0), "'index' is missing or negative")
        .when(f.col("kind").isNull() | ~f.col("kind").isin("send", "deliver", "internal"), "unknown kind")
        .when(about & no_name("message"), "'message' is missing or no name")
        .when((f.col("kind") == "send") & no_name("peer"), "'peer' is missing or no name")
    )
    rows = rows.withColumn("reason", reason)
    same = Window.partitionBy("process", "index", "kind", "message", "peer", "text", "reason").orderBy(f.lit(0))
    copy = f.col("reason").isNull() & (f.row_number().over(same) > 1)
    rows = rows.withColumn("copy", copy)
    used = f.col("reason").isNull() & ~f.col("copy")
    place = Window.partitionBy("process", "index")
    rows = rows.withColumn("at_place", f.sum(used.cast("int")).over(place))
    # What the rows about a message say of it.
    sends, delivers = used & (f.col("kind") == "send"), used & (f.col("kind") == "deliver")
    of = Window.partitionBy("message")
    sender = f.when(sends, f.col("process")).when(delivers, f.nullif(f.col("peer"), f.lit("")))
    receiver = f.when(sends, f.col("peer")).when(delivers, f.col("process"))
    one_receiver = ~f.coalesce(f.max(f.when(sends, f.col("peer").contains(BETWEEN))).over(of), f.lit(False))
    rows = rows.withColumns(
        {
            "sends": f.sum(sends.cast("int")).over(of),
            "delivers": f.sum(delivers.cast("int")).over(of),
            "agreed": ~(f.min(sender).over(of) != f.max(sender).over(of))
            & ~(one_receiver & (f.min(receiver).over(of) != f.max(receiver).over(of))),
        }
    )
    message = f.col("kind") != "internal"
    return rows.withColumn(
        "reason",
        f.when(f.col("reason").isNotNull(), f.col("reason"))
        .when(f.col("copy"), "a copy of another line")
        .when(f.col("at_place") > 1, f.concat("process", f.lit(" has two events "), "index"))
        .when(message & (f.col("sends") > 1), f.concat("message", f.lit(" is sent twice")))
        .when(message & one_receiver & (f.col("delivers") > 1), f.concat("message", f.lit(" is delivered twice")))
        .when(message & ~f.coalesce("agreed", f.lit(True)), f.concat(f.lit("rows disagree about "), "message")),
    )


def _judged(told: DataFrame, question: Question, most_held: int, stretch: int) -> OneRunJudged:
    from pyspark.sql import functions as f

    counts = told.groupBy(f.col("reason").isNull().alias("usable")).count().collect()
    by_use = {bool(row["usable"]): int(row["count"]) for row in counts}
    judged, quarantined = by_use.get(True, 0), by_use.get(False, 0)
    bad = told.where(f.col("reason").isNotNull())
    line = f.coalesce("text", f.to_json(f.struct(*COLUMNS[:-1])))
    quarantine = bad.select(line.alias("row"), "reason")
    good = told.where(f.col("reason").isNull())

    def finish(judgements: Sequence[Judgement], holes: Sequence[str] = (), held: int = 0) -> OneRunJudged:
        everything = judged + quarantined
        return OneRunJudged(tuple(judgements), quarantine, tuple(holes), everything, judged, quarantined, held)

    def undecided(because: str, holes: Sequence[str] = ()) -> OneRunJudged:
        return finish([Judgement(order, "unknown", None, because) for order in question.orders], holes)

    if not judged:
        return undecided("no row of it can be used")
    if good.where((f.col("kind") == "send") & f.col("peer").contains(BETWEEN)).limit(1).count():
        return undecided("a run of multicasts is not decided at this size")
    numbers, torn, holes = _lines(good, bad)
    events, messages = _events(good, numbers, torn)
    outcome = _walked(events, len(numbers), question, most_held, stretch)
    names = sorted(numbers, key=numbers.__getitem__)
    return finish(*_verdicts(outcome, messages, names, question, holes))


def _lines(good: DataFrame, bad: DataFrame) -> tuple[dict[str, int], set[str], list[str]]:
    """The processes by number; those that may have more events than the log; and what shows that."""
    from pyspark.sql import functions as f

    of_line = (f.min("index").alias("a"), f.max("index").alias("z"), f.count("*").alias("n"))
    lines = {row["process"]: row for row in good.groupBy("process").agg(*of_line).collect()}
    first = 1 if min(row["a"] for row in lines.values()) == 1 else 0
    peers = good.where("kind = 'send'").select(f.col("peer").alias("process")).distinct()
    numbers = {name: k for k, name in enumerate(sorted({*lines, *(row["process"] for row in peers.collect())}))}
    torn = {name for name, row in lines.items() if row["z"] - first + 1 != row["n"]}
    holes = [f"{name}: {lines[name]['z'] - first + 1 - lines[name]['n']:,} events are missing" for name in sorted(torn)]
    harmed = bad.where(~f.col("reason").startswith("a copy of")).select("process").distinct().collect()
    for row in harmed:
        torn |= {row["process"]} if row["process"] in numbers else set(numbers)
        holes.append(f"{row['process'] or 'any process'}: rows of it are in quarantine")
    sent = good.where("kind = 'send'").select("message")
    unsent = good.where("kind = 'deliver'").join(sent, "message", "left_anti")
    of_nobody = f.sum(f.col("peer").isNull().cast("int")).alias("of_nobody")
    of_process = (f.count("*").alias("n"), f.collect_set("peer").alias("senders"), of_nobody)
    unsent = unsent.groupBy("process").agg(*of_process)
    for row in unsent.collect():
        holes.append(f"{row['process']} delivers {row['n']:,} messages whose sends are not in the log")
        torn |= set(numbers) if row["of_nobody"] else set(row["senders"])
    return numbers, torn, holes


def _events(good: DataFrame, numbers: dict[str, int], torn: set[str]) -> tuple[DataFrame, DataFrame]:
    """The events to be walked, and the messages: all by number of process and place on its line."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    number = f.create_map(*(f.lit(part) for name_number in numbers.items() for part in name_number))
    sends, delivers = good.where("kind = 'send'"), good.where("kind = 'deliver'")
    delivered = delivers.select("message", f.lit(True).alias("is_delivered"))
    # A message not delivered where events are missing may have been delivered there: it does not count as sent.
    certain = sends.join(delivered, "message", "left").where(
        f.col("is_delivered").isNotNull() | ~f.col("peer").isin(*(sorted(torn) or [""]))
    ).select("process", "index", "kind", "message", "peer")  # fmt: skip
    received = delivers.join(sends.select("message"), "message", "left_semi")
    every = certain.unionByName(received.select("process", "index", "kind", "message", "peer"))
    line = Window.partitionBy("process").orderBy("index")
    place = (f.row_number().over(line) - 1).cast("long")
    every = every.select("process", "kind", "message", "peer", place.alias("place"))
    s = every.where("kind = 'send'").select(
        "message", number[f.col("process")].alias("p"), f.col("place").alias("s"), number[f.col("peer")].alias("q"),
    )  # fmt: skip
    d = every.where("kind = 'deliver'").select("message", f.col("place").alias("r"))
    messages = s.join(d, "message", "left")
    at_receiver = (
        Window.partitionBy("q").orderBy(f.coalesce("r", f.lit(1 << 62))).rowsBetween(Window.unboundedPreceding, -1)
    )
    from_sender = Window.partitionBy("p").orderBy("s").rowsBetween(Window.unboundedPreceding, -1)
    is_there = f.col("r").isNotNull()
    before = f.last(f.when(is_there, f.struct("p", "s")), ignorenulls=True).over(at_receiver)
    earlier = f.last(f.when(is_there, f.struct(f.col("q").alias("p"), f.col("r").alias("s"))), ignorenulls=True)
    messages = messages.withColumns({"before": before, "earlier": earlier.over(from_sender)})
    lost = f.sum(f.when(is_there, 0).otherwise(1)).over(from_sender)
    messages = messages.withColumn("behind_lost", is_there & (f.coalesce(lost, f.lit(0)) > 0)).persist()

    def or_none(column: str) -> Column:
        return f.coalesce(column, f.lit(-1)).cast("long")

    sent = messages.select(
        f.col("p").alias("process"), f.col("s").alias("place"), f.lit(0).alias("delivers"), "p", "s", "q",
        or_none("r").alias("r"), or_none("before.p").alias("m_p"), or_none("before.s").alias("m_s"),
        f.lit(-1).cast("long").alias("o_p"), f.lit(-1).cast("long").alias("o_s"),
    )  # fmt: skip
    got = messages.where(is_there).select(
        f.col("q").alias("process"), f.col("r").alias("place"), f.lit(1).alias("delivers"), "p", "s", "q",
        or_none("r").alias("r"), f.lit(-1).cast("long").alias("m_p"), f.lit(-1).cast("long").alias("m_s"),
        or_none("earlier.p").alias("o_p"), or_none("earlier.s").alias("o_s"),
    )  # fmt: skip
    events = sent.unionByName(got)
    return events.select(*(f.col(name).cast("long").alias(name) for name in events.columns)), messages


# -- the walk, in one task ---------------------------------------------------------------------------------------------

_WALKED = "what string, numbers array<long>"
_TIMES, _MAILBOX, _ONE_N, _SYNCHRONOUS = "times", "mailbox", "one-n", "synchronous"
_Found = dict[str, list[int]]


def _walked(events: DataFrame, n: int, question: Question, most_held: int, stretch: int) -> _Found:
    """What the walks find, by name; a walk that was given up is not there."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    walks = [name for name in (_MAILBOX, _ONE_N, _SYNCHRONOUS) if name in question.orders or "n-n" in question.orders]

    def walk(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        found = _walk(map(_columns, batches), n, walks, most_held, stretch)
        columns = [pa.array(list(found), pa.string()), pa.array(list(found.values()), pa.list_(pa.int64()))]
        yield pa.RecordBatch.from_arrays(columns, names=["what", "numbers"])

    # All lines at about the same pace, so that little need be held: each by the share of it that is behind.
    share = (f.col("place") / f.count("*").over(Window.partitionBy("process"))).alias("share")
    in_turn = events.select("*", share).orderBy("share", "process", "place").drop("share")
    rows = in_turn.coalesce(1).mapInArrow(walk, _WALKED).collect()
    # Without events there is no task that could find anything.
    found = {row["what"]: list(row["numbers"]) for row in rows}
    return found or {name: [] for name in (_TIMES, "fifo", "causal", *walks)} | {"held": [0]}


def _columns(batch: pa.RecordBatch) -> np.ndarray[Any, Any]:
    return np.stack([column.to_numpy() for column in batch.columns], axis=1)


def _walk(
    batches: Iterator[np.ndarray[Any, Any]], n: int, walks: Sequence[str], most_held: int, stretch: int
) -> _Found:
    open_walks: dict[str, Walk] = {_TIMES: TimedWalk(n), **{name: Walk(n) for name in walks}}
    found: _Found = {}
    most = 0

    def feed(rows: np.ndarray[Any, Any]) -> None:
        nonlocal most
        for name, walk in list(open_walks.items()):
            walk.feed(_as_walked(name, rows))
            most = max(most, walk.most_held)
            if walk.circle:
                found[name] = [number for place in walk.circle for number in place]
            elif isinstance(walk, TimedWalk) and walk.under_way > most_held:
                pass
            elif len(walk.held) <= most_held:
                continue
            del open_walks[name]

    held: list[np.ndarray[Any, Any]] = []
    waiting = 0
    for rows in batches:
        held.append(rows)
        waiting += len(rows)
        if waiting >= stretch:
            feed(np.concatenate(held))
            held, waiting = [], 0
    if held:
        feed(np.concatenate(held))
    for name, walk in open_walks.items():
        assert walk.finished(), f"{name}: a line waits for an event that is not there"
        found[name] = []
        if isinstance(walk, TimedWalk):
            found |= {"fifo": list(walk.fifo or ())} | {"causal": list(walk.causal or ())}
    return {**found, "held": [most]}


#: The columns of the events as they come from Spark.
_P, _AT, _DELIVERS, _S_P, _S_AT, _R_P, _R_AT, _M_P, _M_AT, _O_P, _O_AT = range(11)


def _as_walked(walk: str, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The events with what each waits for in that walk."""
    delivers = rows[:, _DELIVERS] == 1
    waits_p, waits_at = np.where(delivers, rows[:, _S_P], -1), rows[:, _S_AT].copy()
    if walk == _MAILBOX:
        waits_p = np.where(delivers, waits_p, rows[:, _M_P])
        waits_at = np.where(delivers, waits_at, rows[:, _M_AT])
    if walk == _SYNCHRONOUS:
        before = rows[:, _R_AT] - 1
        own = (rows[:, _R_P] == rows[:, _S_P]) & (before == rows[:, _S_AT])
        waits_p = np.where(delivers, waits_p, np.where((before < 0) | own, -1, rows[:, _R_P]))
        waits_at = np.where(delivers, waits_at, before)
    walked = np.stack(
        [rows[:, _P], rows[:, _AT], waits_p, waits_at, delivers, rows[:, _S_P], rows[:, _S_AT], rows[:, _R_P]], axis=1
    ).astype(np.int64)
    if walk != _ONE_N:
        return walked
    # A deliver waits for two events: it is walked as two, one after the other.
    again = walked.copy()
    again[:, 2], again[:, 3] = np.where(delivers, rows[:, _O_P], -1), rows[:, _O_AT]
    walked[:, 1] *= 2
    again[:, 1] = 2 * again[:, 1] + 1
    both = np.concatenate([walked, again])
    both[:, 3] = 2 * both[:, 3] + 1
    return both


# -- verdicts and witnesses --------------------------------------------------------------------------------------------


def _verdicts(
    found: _Found, messages: DataFrame, names: Sequence[str], question: Question, holes: Sequence[str]
) -> tuple[list[Judgement], Sequence[str], int]:
    told = _Told(found, messages, names, question, bool(holes))
    judgements = [told.judgement(order) for order in question.orders]
    messages.unpersist()
    return judgements, holes, found["held"][0]


@dataclass
class _Told:
    found: _Found
    messages: DataFrame
    names: Sequence[str]
    question: Question
    holes: bool

    def judgement(self, order: str) -> Judgement:
        outcome, witness, because = self._outcome(order)
        if outcome == "kept" and self.holes:
            outcome, because = "unknown", _HOLES
        as_json = None if witness is None else json.dumps(witness, ensure_ascii=False)
        return Judgement(order, outcome, as_json, because)

    def _outcome(self, order: str) -> tuple[str, dict[str, Any] | None, str | None]:
        if self.found.get(_TIMES):
            return "unknown", None, "the log is cyclic: " + self._say(self.found[_TIMES])
        if order == "asynchronous":
            return ("kept", None, None) if _TIMES in self.found else self._given_up()
        if order in ("fifo", "causal"):
            return self._overtaking(order)
        causal = self._overtaking("causal")
        if causal[0] == "broken":
            return causal
        unreceived = self._first("r is null")
        if order == "n-n":
            return self._n_n()
        if unreceived is not None and order != "mailbox":
            if self.question.reading == "pending":
                return "unknown", None, "not decided at this size while messages may still be received"
            if order == "synchronous":
                witness = {"kind": "unreceived", **self._message(unreceived)}
                return "broken", witness, None
            behind = self._first("behind_lost")
            if behind is not None:
                return "broken", {"kind": "behind an unreceived one", **self._message(behind)}, None
        if order not in self.found:
            return self._given_up()
        circle = self.found[order]
        if not circle:
            return ("kept", None, None) if causal[0] == "kept" else causal
        if order == _SYNCHRONOUS:
            return "broken", self._crown(circle), None
        return "broken", {"kind": "cycle", "cycle": self._say(circle)}, None

    def _n_n(self) -> tuple[str, dict[str, Any] | None, str | None]:
        for stronger in ("synchronous",):
            if self._outcome(stronger)[0] == "kept":
                return "kept", None, None
        for weaker in ("mailbox", "one-n"):
            outcome = self._outcome(weaker)
            if outcome[0] == "broken":
                return outcome
        return "unknown", None, "not decided at this size unless other orders settle it"

    def _given_up(self) -> tuple[str, None, str]:
        return "unknown", None, "given up: too many events were waiting for others, or too many messages under way"

    def _overtaking(self, order: str) -> tuple[str, dict[str, Any] | None, str | None]:
        if order not in self.found:
            return self._given_up()
        if not self.found[order]:
            return "kept", None, None
        l, place, by, sent_at, q = self.found[order]
        first, second = self._first(f"p = {l} and s = {place}"), self._first(f"p = {by} and s = {sent_at}")
        assert first is not None
        assert second is not None
        witness = {
            "kind": "overtaking",
            "first": first["message"],
            "second": second["message"],
            "receiver": self.names[q],
            "first_received": first["r"] is not None,
        }
        return "broken", witness, None

    def _crown(self, circle: list[int]) -> dict[str, Any]:
        """Each message has an event before one of the next on some line: so its send is before that one's receive."""
        told = [self._at(p, place) for p, place in zip(circle[::2], circle[1::2], strict=True)]
        # A line waits for the next one to move: what the next one is about comes first.
        round_ = [message["message"] for message in reversed(told)]
        names = [name for k, name in enumerate(round_) if name != round_[k - 1]]
        return {"kind": "crown", "messages": names}

    def _at(self, p: int, place: int) -> Row:
        row = self._first(f"(p = {p} and s = {place}) or (q = {p} and r = {place})")
        assert row is not None
        return row

    def _say(self, circle: list[int]) -> str:
        told = []
        for p, at in zip(circle[::2], circle[1::2], strict=True):
            row = self._at(p, at // 2 if self.found.get(_ONE_N) is circle else at)
            sends = row["p"] == p and row["s"] == (at // 2 if self.found.get(_ONE_N) is circle else at)
            told.append(f"{self.names[p]} {'sends' if sends else 'receives'} {row['message']}")
        return " waits for ".join([*told, told[0]])

    def _message(self, row: Row) -> dict[str, Any]:
        return {"message": row["message"], "receiver": self.names[row["q"]]}

    def _first(self, condition: str) -> Row | None:
        found = self.messages.where(condition).orderBy("p", "s").limit(1).collect()
        return found[0] if found else None
