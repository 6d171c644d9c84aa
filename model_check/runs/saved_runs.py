"""A reader of the JSON that `check --json` prints: its schema, and the runs in it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from crownless.model_check.system.system import AGREED
from crownless.runtime.errors import BadInput
from crownless.runtime.reading import decode_json
from crownless.spec.enumeration import Sends

from .actions import ShownAction, ShownPacket
from .packets import ARRIVES, Flight, Link
from .runs import Run, in_any_round

SAVED_RUNS_HINT = "give the output of 'check --json'"


class SavedPacket(msgspec.Struct):
    """A packet that an action transmits."""

    kind: str
    message: str | None
    to: str
    control: bool = False
    number: int = 0
    alike: int = 0

    def source(self, process: str) -> str:
        """The process that transmits it; but each survivor learns an agreement as if from itself."""
        return self.to if self.kind == AGREED else process


class SavedEvent(msgspec.Struct):
    """An application event."""

    event: str
    message: str


class SavedAction(msgspec.Struct, rename={"source": "from"}, omit_defaults=True):
    """An action of a run. `number`: that of the packet it takes, among those that its sender transmitted on this link;
    0 if unknown. `alike`: its number among those that look alike. `outcome`: its number among those of the action in
    its state; 0 if there is only one, or unknown, as in files of earlier versions.
    """

    process: str
    action: str
    transmits: list[SavedPacket]
    happens: list[SavedEvent]
    message: str | None = None
    to: list[str] = []
    source: str | None = None
    packet: str | None = None
    by_channel: bool = False
    number: int = 0
    alike: int = 0
    outcome: int = 0

    def shown(self) -> ShownAction:
        packet = None
        if self.packet is not None:
            if self.source is None:
                raise BadInput(f"{self.process} receives a packet without 'from'", hint=SAVED_RUNS_HINT)
            packet = ShownPacket(self.packet, self.message, self.source, self.process, self.number, alike=self.alike)
        return ShownAction(
            process=self.process,
            action=self.action,
            message=self.message,
            to=tuple(self.to),
            packet=packet,
            transmits=tuple(
                ShownPacket(
                    x.kind, x.message, x.source(self.process), x.to, x.number, x.control or x.message is None, x.alike
                )
                for x in self.transmits
            ),
            happened=tuple((x.event, x.message) for x in self.happens),
            by_channel=self.by_channel,
            outcome=self.outcome,
        )


class SavedProperty(msgspec.Struct):
    """A property, and the run that violates it; of a run that never ends also the loop."""

    name: str
    run: list[SavedAction] | None
    loop: list[SavedAction] = []


class SavedCheck(msgspec.Struct):
    """The result of a check; or, with `title` and `claim`, a bundled counterexample."""

    protocol: str
    process_names: list[str]
    properties: list[SavedProperty]
    title: str = ""
    claim: str = ""
    # The check itself, from the output of `check --json`:
    processes: int | None = None
    messages: int | None = None
    program: str | None = None
    channel: str | None = None
    sends: Sends | None = None
    self_sends: bool = False
    crash: str | None = None
    parameters: dict[str, int | tuple[int, ...]] = {}

    def violations(self) -> list[tuple[str, Run]]:
        """The violated properties, each with its run."""
        return [
            (known.name, self._run(known.run, known.loop, known.name))
            for known in self.properties
            if known.run is not None
        ]

    def _run(self, actions: list[SavedAction], again: list[SavedAction], breaks: str) -> Run:
        names = self.process_names
        if len(set(names)) < len(names) or not all(names):
            raise BadInput("'process_names' has an empty name, or one twice", hint=SAVED_RUNS_HINT)
        loop = tuple(in_any_round(action.shown()) for action in again)
        run = Run(tuple(names), tuple(numbered(action.shown() for action in actions)), breaks=breaks, loop=loop)
        known = set(names)
        for action in (*run.actions, *run.loop):
            source = [action.packet.source] if action.packet is not None else []
            for name in (action.process, *action.to, *source, *(packet.destination for packet in action.transmits)):
                if name not in known:
                    raise BadInput(f"the run names an unknown process {name}", hint=f"known: {', '.join(names)}")
        return run


def numbered(actions: Iterable[ShownAction]) -> Iterator[ShownAction]:
    """The same actions, with the packets identified that are not, as in files of earlier versions: of those that look
    alike the first.
    """
    flight = Flight()
    for action in actions:
        packet = action.packet
        if packet is not None:
            packet = replace(packet, number=_take(flight, packet, action))
        numbers = [flight.transmit(_link(one), (one.kind, one.message)).number for one in action.transmits]
        sent = tuple(replace(one, number=number) for one, number in zip(action.transmits, numbers, strict=True))
        yield replace(action, packet=packet, transmits=sent)


def _take(flight: Flight, packet: ShownPacket, action: ShownAction) -> int:
    """The number of the packet that an action takes from the flight; 0 if there is no such packet."""
    content = (packet.kind, packet.message)
    there = [(one, place) for one, known, place in flight.on(_link(packet)) if known == content]
    there = [each for each in there if packet.number in (0, each[0].number)]
    if not there:
        return packet.number
    best = ("link",) if action.action == "duplicate" else ("copy", "link") if _on_link(action) else ("queue",)
    one, place = min(there, key=lambda each: each[1] not in best)
    flight.take(one, place, action.action, by_channel=action.by_channel)
    return one.number


def _on_link(action: ShownAction) -> bool:
    """True if the packet that the action takes is still on its link."""
    return action.by_channel or action.action == ARRIVES


def _link(packet: ShownPacket) -> Link:
    return packet.source, packet.destination


class SavedAnswer(msgspec.Struct):
    """The answer of `check --json`."""

    crownless: str
    checks: list[SavedCheck]


def read_checks(content: bytes, file: str) -> list[SavedCheck]:
    """The checks in JSON: in an answer of `check --json`, or in a list, as counterexamples are bundled."""
    if content.lstrip().startswith(b"["):
        return decode_json(content, list[SavedCheck], file=file, hint=SAVED_RUNS_HINT)
    return decode_json(content, SavedAnswer, file=file, hint=SAVED_RUNS_HINT).checks
