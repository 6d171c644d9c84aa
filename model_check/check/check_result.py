"""The result of a check: a verdict for each property, a run for each violation, counts, and their scope."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from crownless.drawing.diagram import Diagram
from crownless.impl.protocol import ProtocolMachine, is_arrival
from crownless.impl.registry import is_bundled
from crownless.impl.workloads import Workload
from crownless.model_check.runs.runs import Run, diagrams_of_violations, shown_once
from crownless.model_check.search.engines import Engine
from crownless.model_check.search.reachable import Reached, reachable, state_graph
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.machine_calls import ACTIONS
from crownless.model_check.system.properties import (
    CAN_COMPLETE,
    COMPLETES,
    DELIVERS_ONCE,
    DELIVERS_SOMETHING,
    HOLDS_BACK,
    NEVER_BLOCKS,
    RELEASES,
    Property,
)
from crownless.model_check.system.request import ResolvedCheck
from crownless.runtime.ending import INTERRUPTED
from crownless.runtime.errors import NoSuchName, Undecided, no_such_name
from crownless.runtime.printable import in_brackets, printable, some
from crownless.spec.dataframes import StateGraph
from crownless.spec.drawn import Drawn
from crownless.spec.result import Result, Table

Outcome = Literal["holds", "violated", "unknown"]

NOT_SENT = (
    "no message is ever sent, as the application sees it: list cr.sent(message) in the events of the step that sends it"
)
NOT_DELIVERED = (
    "nothing is ever delivered: list cr.delivered(message) in the events of the step with which an application gets a "
    "message"
)
ELSEWHERE = (
    'if messages have several receivers, say so in the class: sends = "broadcast", or "multicast"; if senders deliver '
    'their own broadcasts: sends = "broadcast-to-all"'
)


@dataclass(frozen=True)
class PropertyResult(Result, Drawn):
    """The result for one property; `run` shows a violation, `note` gives the basis of the verdict where it is not
    obvious. `ended_early`: why the search for the run, or for lassos, was given up.
    """

    json_keys = "name=property.name kind=property.kind verdict promised=property.promised run loop=run.loop? note"

    property: Property
    verdict: Outcome
    run: Run | None = None
    note: str = ""
    ended_early: str | None = None

    def __repr__(self) -> str:
        return in_brackets(f"{self.property.name}: {self._verdict()}")

    def __str__(self) -> str:
        return self.headline() if self.run is None else f"{self.headline()}\n\n{self.run}"

    def headline(self) -> str:
        """The property, its verdict, its meaning and the note, in a line."""
        said = f"{self.property.name}: {self._verdict()}: {self.property.meaning}{self.note and '; '}{self.note}"
        return printable(said)

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the run that shows a violation, if there is one."""
        if self.run is not None:
            yield self.run.diagram(self.property.name, highlight or self.property.name)

    def _verdict(self) -> str:
        return self.verdict if self.run is None else f"{self.verdict}, shown by a run of {len(self.run)} actions"


class Suite(NamedTuple):
    """The verdicts on one subject: a protocol, by its name or as `file.py:Class`, or an implementation."""

    subject: str
    lines: Sequence[PropertyResult]
    seconds: float
    #: The scope of the verdicts, in words.
    scope: str = ""


@dataclass(frozen=True)
class CheckResult(Result, Table, Drawn):
    """The verdict on each property, and the counts that go with it.

    It is true if all of them hold; an unknown verdict has no truth value, and raises `Undecided`.
    """

    titled = True
    json_keys = """
        engine=engine.name reductions=engine.reductions symmetry workers=engine.workers
        states=exploration.states transitions=exploration.transitions depth=exploration.depth
        terminal_states=exploration.terminal_states nodes=exploration.nodes
        actions never never_exercised hints seconds verdict completes blocks scope properties
        """

    check: ResolvedCheck
    exploration: Exploration
    properties: tuple[PropertyResult, ...]
    seconds: float
    #: The engine that explored it.
    engine: Engine
    #: The directory where it is saved, if it ended early and can be resumed.
    saved: Path | None = field(default=None)
    #: How many of the seconds went before it was resumed.
    seconds_before: float = 0.0

    def __bool__(self) -> bool:
        if self.verdict == "unknown":
            raise Undecided(f"{self!r} is neither true nor false: compare its verdict")
        return self.holds

    def __getitem__(self, name: str) -> PropertyResult:
        """The result for the property of that name; raises `NoSuchName`, a `KeyError`, if it was not decided."""
        if name not in self._by_name:
            raise no_such_name(f"{self.protocol}: no property {name!r}", name, self)
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the properties."""
        return iter(self._by_name)

    @property
    def brief(self) -> str:
        """The subject, the verdict and the violated properties."""
        violated = f", violates {', '.join(self.violations)}" if self.violations else ""
        return f"{self.protocol}: {self.verdict}, {some(self.exploration.states, 'state')}{violated}"

    def __str__(self) -> str:
        breaks = printable(f"{self.protocol} violates ")
        drawn = [f"{breaks}{', '.join(map(printable, names))}:\n\n{run}" for run, names in self.shown_runs()]
        return "\n\n".join([printable(f"{self.protocol}: {self.verdict}; {self.scope}"), *drawn])

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """A diagram for each run that shows a violation."""
        return diagrams_of_violations(self.protocol, self._found, highlight)

    def shown_runs(self) -> list[tuple[Run, list[str]]]:
        """Each run that shows a violation, once, with the names of the properties that it violates."""
        return shown_once(self._found)

    @property
    def _found(self) -> list[tuple[str, Run | None]]:
        return [(name, line.run) for name, line in self.violations.items()]

    def rows(self) -> list[dict[str, Any]]:
        """A row per property: `property`, `kind`, `verdict`, the length of the run that shows it, `note`."""
        return [
            {
                "property": line.property.name,
                "kind": line.property.kind,
                "verdict": line.verdict,
                "actions": None if line.run is None else len(line.run),
                "note": line.note,
            }
            for line in self.properties
        ]

    def suite(self) -> Suite:
        """The verdicts about every run, for other tools."""
        decided = [line for line in self.properties if line.property.kind != "sometimes" and line.property.promised]
        return Suite(self.protocol, decided, self.seconds)

    def states(self) -> Iterator[Reached]:
        """Every reachable state, the nearest first, by a new search."""
        return reachable(self.check.system())

    def to_networkx(self) -> StateGraph:
        """The state graph, by a new search; see `reachable.state_graph`."""
        return state_graph(self.check.system())

    @property
    def _by_name(self) -> dict[str, PropertyResult]:
        return {line.property.name: line for line in self.properties}

    @property
    def shows_violation(self) -> bool:
        """True if there is a violation to be shown."""
        return self.verdict == "violated"

    @property
    def holds(self) -> bool:
        """True if every property that is promised holds, and something was delivered."""
        return self.verdict == "holds"

    @property
    def violations(self) -> Mapping[str, PropertyResult]:
        """The promised properties that are violated, by name; another name raises `NoSuchName`, a `KeyError` that has
        its verdict.
        """
        return _Violations(self)

    @property
    def verdict(self) -> Outcome:
        """The worst of the verdicts on properties about every run."""
        if self.violations:
            return "violated"
        live = [line for line in self.properties if line.property.kind == "live" and line.property.promised]
        if any(line.verdict == "unknown" for line in live):
            return "unknown"
        if self.exploration.stopped or DELIVERS_SOMETHING.name not in self.exploration.reached:
            return "unknown"
        return "holds"

    @property
    def protocol(self) -> str:
        """The protocol's name."""
        return self.check.protocol

    @property
    def machine(self) -> ProtocolMachine:
        """The protocol that was checked."""
        return self.check.machine

    @property
    def workload(self) -> Workload:
        """The workload in words."""
        return self.check.workload

    @property
    def channel(self) -> str:
        """The name of the channel over which it was checked."""
        return self.check.channel_name

    @property
    def scope(self) -> str:
        """The scope of the verdict, in words."""
        stopped, not_tried = self.exploration.stopped, self.check.machine.not_tried
        every = "every interleaving of inputs" if not_tried else "every interleaving"
        searched = f"search ended early: {stopped}" if stopped else every
        return "; ".join(filter(None, [*self.check.bounds, searched, not_tried, str(self.engine)]))

    @property
    def actions(self) -> dict[str, int]:
        """The number of states in which each action is enabled: sends, deliveries, then by name."""
        counts = self.exploration.actions
        names = sorted(counts, key=lambda name: (name != "send", name != "deliver", name))
        return {name: counts[name] for name in names}

    @property
    def never(self) -> tuple[str, ...]:
        """The kinds of actions for which the protocol has a rule but which were never enabled."""
        return tuple(name for name, enabled in self._kinds_of_rules.items() if not enabled)

    @property
    def exercised(self) -> dict[str, bool]:
        """Each rule of the protocol, by name, and whether some run exercised it: kinds of actions, then its own."""
        own = (HOLDS_BACK.name, RELEASES.name, *self.machine.witnesses, *self.machine.rules)
        lines = self._by_name
        return {**self._kinds_of_rules, **{name: lines[name].verdict == "holds" for name in own if name in lines}}

    @property
    def never_exercised(self) -> tuple[str, ...]:
        """The rules that no run exercised: the verdict says nothing about the cases they handle."""
        return tuple(name for name, exercised in self.exercised.items() if not exercised)

    @property
    def hints(self) -> tuple[str, ...]:
        """Hints on what a user's protocol seems to lack: application events, or receivers of its messages."""
        found = self.exploration
        if is_bundled(type(self.machine)) or found.stopped:
            return ()
        hints = []
        blocks, once = self.violations.get(NEVER_BLOCKS.name), self.violations.get(DELIVERS_ONCE.name)
        delivers = DELIVERS_SOMETHING.name in found.reached
        if blocks is not None and blocks.run is not None and (not delivers or once is not None):
            kinds = {kind for action in blocks.run.actions for kind, _ in action.happened}
            if "send" in found.actions and "send" not in kinds:
                hints.append(NOT_SENT)
        if not delivers and any(map(is_arrival, found.actions)):
            hints.append(NOT_DELIVERED)
        if once is not None and "which is for" in once.note:
            hints.append(f"{once.note}: {ELSEWHERE}")
        return tuple(hints)

    @property
    def _kinds_of_rules(self) -> dict[str, bool]:
        """Each kind of rule that the protocol has, and whether an action of that kind was ever enabled."""
        own, base, actions = type(self.machine), ProtocolMachine, self.exploration.actions
        arrivals = [name for name in actions if name == "deliver" or is_arrival(name)]
        internal = [name for name in actions if not (name in ACTIONS or is_arrival(name))]
        kinds = {"send": "send" in actions, "arrival": bool(arrivals)}
        if own.receive is not base.receive:
            kinds["receive by the application"] = "deliver" in actions
        if own.internal is not base.internal:
            kinds["internal step"] = bool(internal)
        if own.agree is not base.agree and self.check.crash is not None:
            kinds["agree"] = "agree" in actions
        return kinds

    @property
    def completes(self) -> str | None:
        """Whether the program terminates: `always`, `sometimes`, `never` or `unknown`; None: no program."""
        if COMPLETES.name not in self._by_name:
            return None
        verdict = self[COMPLETES.name].verdict
        if verdict != "violated":
            return {"holds": "always", "unknown": "unknown"}[verdict]
        if CAN_COMPLETE.name in self.exploration.reached:
            return "sometimes"
        return "unknown" if self.exploration.stopped else "never"

    @property
    def ended_early(self) -> bool:
        """True if a limit or Ctrl-C ended the search, or the search for a run to show or for lassos."""
        return self.exploration.stopped is not None or any(line.ended_early for line in self.properties)

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended it."""
        return INTERRUPTED in (self.exploration.stopped, *(line.ended_early for line in self.properties))

    @property
    def symmetry(self) -> dict[str, Any]:
        """Whether processes are declared alike, whether the search found them so, and on what evidence."""
        engine = self.engine
        shared = engine.symmetry if engine.shared else None
        return {
            "declared": self.check.machine.symmetric,
            "found": False if engine.asymmetry is not None else True if engine.shared else None,
            "because": engine.asymmetry,
            "entries": None if shared is None else shared.entries,
            "compared": None if shared is None else shared.compared,
        }

    @property
    def blocks(self) -> list[tuple[str, ...]]:
        """The sets of processes that may wait for ever."""
        return sorted(self.exploration.blocked)

    def json(self) -> dict[str, Any]:
        """The request and the result, under the stable keys of the command line and a few more."""
        return self.check.json() | super().json()


class _Violations(dict[str, PropertyResult]):
    """The properties violated, by name; a missing one is not violated, or was not decided."""

    def __init__(self, result: CheckResult) -> None:
        violated = [line for line in result.properties if line.verdict == "violated" and line.property.promised]
        super().__init__({line.property.name: line for line in violated})
        self._result = result

    def __missing__(self, name: str) -> PropertyResult:
        line = self._result[name]
        said = {
            "holds": "is not violated, it holds",
            "unknown": "is not violated, its verdict is unknown",
            "violated": "is violated, but not promised",
        }[line.verdict]
        violated = ", ".join(self) or "none"
        raise NoSuchName(f"{self._result.protocol}: '{name}' {said}; violated: {violated}")
