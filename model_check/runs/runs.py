"""Runs as shown: the actions in order, in words, as JSON and as a drawing.

The drawing is of the *run*, not of the computation: arrows are packets, so that the protocol's work (requests,
acknowledgements, a message that waits) is visible. Application events are written beside it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from crownless.drawing.diagram import Diagram
from crownless.drawing.emphasis import NOTICED
from crownless.drawing.text import in_text
from crownless.impl.protocol import Packet
from crownless.model_check.system.system import LocalStep, State, System
from crownless.runtime.printable import in_brackets, printable_name
from crownless.spec.computation import Message
from crownless.spec.dataframes import DataFrame, Graph, data_frame
from crownless.spec.drawn import Drawn
from crownless.spec.orders import ORDERS

from .actions import ActionsOfRun, ShownAction, ShownPacket
from .packets import PacketId, PacketTracker
from .run_diagrams import diagram_of_run, violation_of


@dataclass(frozen=True, repr=False)
class Run(ActionsOfRun, Drawn):
    """A run of a system from its initial state; messages are called m1, m2, … as handed over, or as in the program."""

    def __str__(self) -> str:
        return "\n".join([self.draw(), self.say(), *self.why()])

    def __repr__(self) -> str:
        return in_brackets("; ".join(action.say() for action in self.actions))

    def __len__(self) -> int:
        """The number of actions."""
        return len(self.actions)

    def json(self) -> list[dict[str, Any]]:
        """As `crownless check --json` prints it."""
        return [action.json() for action in self.actions]

    def loop_json(self) -> dict[str, Any]:
        """The loop, if there is one, under the key that it has beside that of the run."""
        return {"loop": [action.json() for action in self.loop]} if self.loop else {}

    def to_pandas(self) -> DataFrame:
        """A row per action: `process`, `action`, `message`, and in words."""
        return data_frame(
            {"process": each.process, "action": each.action, "message": each.message, "in_words": each.say()}
            for each in self.actions
        )

    def to_networkx(self) -> Graph:
        """The packets of the run as messages in the form of `Computation.to_networkx`; other events at a process are
        `internal` nodes.
        """
        return self.diagram().computation.to_networkx()

    def say(self) -> str:
        """One line per action; those of a loop last."""
        lines = [f"{number:3}. {action.say()}" for number, action in enumerate([*self.actions, *self.loop], 1)]
        if self.loop:
            lines.insert(len(self), "and then again and again:")
        return "\n".join(lines)

    def why(self, *properties: str) -> list[str]:
        """Why it violates the orders among these properties, by default the one that it was found to violate: the cycle
        of constraints, or the crown, in lines. None if FIFO or causal order is among them: the drawing shows why.
        """
        orders = [name for name in properties or (self.breaks or "",) if name in ORDERS]
        if any(order in NOTICED for order in orders):
            return []
        shown: dict[str, str] = {}
        for order in orders:
            violation = violation_of(self, order)
            if violation is not None:  # the same message may violate several
                shown.setdefault(repr(violation.witness), str(violation))
        return [line for violation in shown.values() for line in violation.splitlines()]

    @property
    def switches(self) -> int:
        """The number of times the acting process changes."""
        acting = [action.process for action in self.actions if not action.by_channel]
        return sum(a != b for a, b in zip(acting, acting[1:], strict=False))

    def draw(self, *, unicode: bool = True) -> str:
        """A space-time diagram of the packets, with the application's events beside it."""
        return in_text(self.diagram(), unicode=unicode)

    def diagram(self, title: str = "", breaks: str | None = None) -> Diagram:
        """The space-time diagram of the packets, to be drawn in any form, with emphasis on the violation of a property;
        default: the property that it was found to violate.
        """
        return diagram_of_run(self, title, breaks or self.breaks)

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """This diagram."""
        yield self.diagram("", highlight)


def in_any_round(action: ShownAction) -> ShownAction:
    """The action of a loop, without numbers of packets: in each round it takes and transmits others."""
    packet = None if action.packet is None else replace(action.packet, number=0, alike=0)
    return replace(action, packet=packet, transmits=tuple(replace(one, number=0, alike=0) for one in action.transmits))


def wrong_event(run: Run) -> str:
    """The first event of a run that violates `delivers-once`, in words; empty if there is none."""
    addressed = {action.message: (action.process, action.to) for action in run.actions if action.action == "send"}
    happened = [(action.process, kind, message) for action in run.actions for kind, message in action.happened]
    known: set[tuple[str, str, str]] = set()
    for process, kind, message in happened:
        sender, receivers = addressed.get(message, (process, (process,)))
        deed = f"{printable_name(process)} {kind}s {printable_name(message)}"
        if kind == "unsend":
            known = {event for event in known if event[2] != message}
        elif kind == "undeliver":
            known.discard((process, "deliver", message))
        elif (process, kind, message) in known:
            return f"{deed} a second time"
        elif kind == "deliver" and process not in receivers:
            return f"{deed}, which is for {', '.join(map(printable_name, receivers))}"
        elif kind == "send" and process != sender:
            return f"{deed}, which is from {printable_name(sender)}"
        else:
            known.add((process, kind, message))
    sent: set[str] = set()
    for process, kind, message in happened:
        if kind == "deliver" and message not in sent:
            return f"{printable_name(process)} delivers {printable_name(message)} before it is sent"
        sent |= {message} if kind == "send" else set()
    return ""


def shown_once(found: Iterable[tuple[str, Run | None]]) -> list[tuple[Run, list[str]]]:
    """Each of these runs once, with the names of all the properties that it violates."""
    shown: dict[tuple[object, ...], tuple[Run, list[str]]] = {}
    for name, run in found:
        if run is not None:
            shown.setdefault((run.processes, run.actions, run.loop), (run, []))[1].append(name)
    return list(shown.values())


def diagrams_of_violations(
    subject: str, found: Iterable[tuple[str, Run | None]], highlight: str | None = None
) -> Iterator[Diagram]:
    """A diagram for each of these runs, with all violated properties in the title, and emphasis on the first."""
    for run, names in shown_once(found):
        yield run.diagram(f"{subject} violates {', '.join(names)}", highlight or names[0])


def run_of(system: System, steps: Sequence[LocalStep], end: State | None = None, loop: Sequence[LocalStep] = ()) -> Run:
    """The run that consists of these steps and leads to the state `end`, or then takes those of the loop for ever.
    Messages are numbered as they are handed over, or named as in the program.
    """
    keep_names = not system.workload.takes_anything
    processes = system.workload.processes
    names: dict[Message, str] = {}

    def name(message: Message | None) -> str | None:
        if message is None:
            return None
        return names.setdefault(message, message.name if keep_names else f"m{len(names) + 1}")

    tracker = PacketTracker(system)
    identified = [(step, *tracker.follow(step)) for step in (*steps, *loop)]

    def shown(packet: Packet, which: PacketId) -> ShownPacket:
        source, destination = processes[packet.source], processes[packet.destination]
        control, alike = system.machine.is_control(packet), tracker.place_among_alike(which)
        return ShownPacket(packet.kind, name(packet.message), source, destination, which.number, control, alike)

    actions = []
    for step, taken, sent in identified:
        action = step.action
        message = name(action.message)
        actions.append(
            ShownAction(
                process=processes[action.process],
                action=action.name,
                message=message,
                to=tuple(processes[q] for q in action.message.receivers)
                if action.name == "send" and action.message
                else (),
                packet=None if action.packet is None or taken is None else shown(action.packet, taken),
                transmits=tuple(map(shown, system.transmitted(step), sent)),
                happened=tuple((kind, name(m) or "") for kind, _, m in step.observations if kind != "hand"),
                by_channel=action.by_channel,
                outcome=step.outcome,
                state=system.state_after(step),
            )
        )
    at_end = () if end is None else system.local_states(end)
    at_start = system.local_states(system.initial()) if system.machine.shows_variables else ()
    run, again = tuple(actions[: len(steps)]), tuple(map(in_any_round, actions[len(steps) :]))
    return Run(processes, run, names, at_end, at_start, loop=again)
