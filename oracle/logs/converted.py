"""Logs of other formats as the rows of a log, and notes on how they were read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from crownless.runtime.ending import looked_at
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name, some

from .delivery import Delivery
from .reasons import DeliveredTwice
from .rows import Row
from .uncertain import CERTAIN, Uncertain, Unordered, all_but, copies_left_out

#: The most things that are named in a note.
NAMED_UP_TO = 3
TO_NOBODY = "a message without a named receiver is not delivered in the log"
RECEIVERS_UNKNOWN = "the log does not say whether it is one of its receivers"
#: The hint for a log that is declared complete, and is not.
NOT_COMPLETE = "leave --complete out, or give the whole log"


@dataclass
class ConvertedLog:
    """The events of a log, each with its number in the file; by run, notes, uncertainties, and deliveries."""

    events: list[Row] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    uncertain: dict[str, Uncertain] = field(default_factory=dict)
    #: By run, the sends without receivers whose messages are never delivered; they are internal events here.
    to_nobody: dict[str, list[Row]] = field(default_factory=dict)
    #: For a complete log, by run, how it delivers its messages.
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    #: The unit of the numbers of events, if they are those of a file with the columns of a log.
    by: Literal["line", "row"] | None = None
    #: False if no column has the receivers of a send (`with_receivers`).
    names_receivers: bool = True

    @property
    def without_unordered(self) -> list[Row]:
        """The events without some copies of messages, so that the order of all is known."""
        left_out = {run: copies_left_out(uncertain.unordered) for run, uncertain in self.uncertain.items()}
        found = []
        for event in self.events:
            out = left_out.get(event.run, frozenset())
            if event.kind == "send":
                peers = tuple(peer for peer in event.peers if (event.message, peer) not in out)
                found.append(replace(event, peers=peers) if peers else event.as_internal())
            else:
                found.append(event.as_internal() if (event.message, event.process) in out else event)
        return found

    def note(self, run: str, text: str) -> None:
        """Adds a note on the run."""
        self.notes.setdefault(run, []).append(text)

    def doubt(self, run: str, reasons: Mapping[str, str], unordered: Sequence[Unordered] = ()) -> None:
        """Adds reasons why orders of the run cannot be reported as kept, by order; and events of unknown order."""
        known = self.uncertain.get(run, CERTAIN)
        self.uncertain[run] = Uncertain({**known.reasons, **reasons}, (*known.unordered, *unordered))

    def add(
        self,
        run: str,
        rows: Sequence[Row],
        hint: str,
        *,
        complete: bool,
        by: str = "line",
        topics: Mapping[str, str] | None = None,
    ) -> None:
        """Adds rows of a run; a send without receivers gets those that deliver the message, or becomes internal.

        Raises `BadInput` if one process sends a message twice, or delivers it twice. `complete`: none is missing, and
        double deliveries are allowed; `by`: the unit of row numbers; `topics`: those of messages, as far as known.
        """
        seen: dict[tuple[str, str, str], Row] = {}
        delivered: dict[str, dict[str, None]] = {}
        for row in looked_at(rows):
            earlier = seen.setdefault((row.process, row.kind, row.message), row)
            if row.kind == "deliver":
                delivered.setdefault(row.message, {})[row.process] = None
            if earlier is not row and row.kind != "internal" and not (complete and row.kind == "deliver"):
                does = f"{row.process} {row.kind}s {row.message} twice: {by}s {earlier.line} and {row.line}"
                raise BadInput(does, hint=hint, line=row.line if by == "line" else None)
        self._doubt_receivers(run, rows, delivered, topics or {})
        to_nobody: list[Row] = []
        for row in looked_at(rows):
            if row.kind == "send" and not row.peers:
                peers = tuple(delivered.get(row.message, ()))
                to_nobody += [] if peers else [row]
                row = replace(row, peers=peers) if peers else row.as_internal()
            self.events.append(row)
        if to_nobody:
            self.to_nobody[run] = to_nobody
            self.doubt(run, all_but(["asynchronous"], TO_NOBODY))
            messages = few([row.message for row in to_nobody], "message")
            self.note(run, f"{messages} without a named receiver, and not delivered: left out")

    def _doubt_receivers(
        self, run: str, rows: Sequence[Row], delivered: Mapping[str, Collection[str]], topics: Mapping[str, str]
    ) -> None:
        """Doubts the orders of a run if a process delivers other messages of a topic, or of a sender, and misses one
        whose send names no receivers: it may be a receiver.
        """
        sends = [row for row in rows if row.kind == "send" and not row.peers]
        #: The processes that deliver messages of a topic or sender, and those that deliver their own.
        subscribers: dict[str, dict[str, None]] = {}
        own: set[tuple[str, str]] = set()
        for send in looked_at(sends):
            names = delivered.get(send.message, ())
            group = _group(send, topics)
            subscribers.setdefault(group, {}).update(dict.fromkeys(names))
            own |= {(group, send.process)} if send.process in names else set()
        missed: list[tuple[str, str, str]] = []
        for send in looked_at(sends):
            group = _group(send, topics)
            others = subscribers[group].keys() - {*delivered.get(send.message, ())}
            others -= set() if (group, send.process) in own else {send.process}
            missed += [(process, send.message, group) for process in sorted(others)]
        if missed:
            process, message, group = missed[0]
            more = f", and {some(len(missed) - 1, 'more case')}" if len(missed) > 1 else ""
            reason = f"{process} delivers other messages {group} and not {message}{more}: {RECEIVERS_UNKNOWN}"
            self.doubt(run, all_but(["asynchronous"], reason))


def _group(send: Row, topics: Mapping[str, str]) -> str:
    """The messages that may have the same receivers as this one: those of its topic, or else of its sender."""
    topic = topics.get(send.message)
    return f"from {send.process}" if topic is None else f"of topic {topic}"


def with_receivers(runs: Mapping[str, list[Row]], name: str, *, complete: bool = False) -> ConvertedLog:
    """The runs of a log whose sends do not name their receivers: each is sent to the processes that deliver it."""
    log = ConvertedLog(names_receivers=False)
    note = "no column has the receivers of a send: they are the processes that deliver the message"
    note += "; delivers-all cannot be reported to hold: the log does not name all receivers" * complete
    for run, rows in runs.items():
        try:
            log.add(run, rows, DeliveredTwice.hint, complete=complete)
        except BadInput as problem:
            raise problem.at(file=name) from None
        log.note(run, note)
    return log


def few(things: Collection[str], thing: str) -> str:
    """The number of things, with the names of the first: ``2 events (a, b)``."""
    first = [printable_name(name) for _, name in zip(range(NAMED_UP_TO), things, strict=False)]
    return f"{some(len(things), thing)} ({', '.join(first)}{', …' if len(things) > NAMED_UP_TO else ''})"
