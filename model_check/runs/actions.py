"""The actions of a run as shown: in words, and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crownless.runtime.printable import LONGEST_NAME, in_brackets, printable_name
from crownless.spec.computation import Message

from .packets import ARRIVES


@dataclass(frozen=True)
class ShownPacket:
    """A packet in a run: its kind and content, source and destination."""

    kind: str
    message: str | None
    source: str
    destination: str
    #: Its number among all packets transmitted on this link, from 1, which identifies it; 0 if unknown.
    number: int = 0
    #: True if it carries no message of the application.
    control: bool = field(default=False, compare=False)
    #: Its number among those of its link that look alike, from 1; 0 if it need not be known which of them it is.
    alike: int = field(default=0, compare=False)

    @property
    def label(self) -> str:
        """The message's name, with the kind unless the packet is simply the message; and which of several it is."""
        simply = self.kind == "message" and self.message
        return numbered_name(simply or " ".join(filter(None, (self.kind, self.message))), self.which)

    @property
    def which(self) -> str:
        """Which of several that look alike it is, such as `` #2``; empty if that need not be known."""
        return f" #{self.alike}" if self.alike else ""

    def json(self) -> dict[str, Any]:
        """Which packet it is: the same where it is transmitted and where it is received."""
        return {name: which for name, which in (("number", self.number), ("alike", self.alike)) if which}


@dataclass(frozen=True)
class ShownAction:
    """One action of a run. `happened`: its application events, as (kind, message)."""

    process: str
    action: str
    message: str | None
    to: tuple[str, ...]
    packet: ShownPacket | None
    transmits: tuple[ShownPacket, ...]
    happened: tuple[tuple[str, str], ...]
    by_channel: bool
    #: Its number among the different outcomes of this action in its state, from 1; 0 if there is only one, or unknown.
    outcome: int = 0
    #: The local state of the process after it, if known.
    state: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        return in_brackets(self.say())

    def json(self) -> dict[str, Any]:
        """As `crownless check --json` prints it."""
        facts: dict[str, Any] = {"process": self.process, "action": self.action}
        if self.message is not None:
            facts["message"] = self.message
        if self.to:
            facts["to"] = list(self.to)
        if self.packet is not None:
            facts["from"] = self.packet.source
            facts["packet"] = self.packet.kind
            facts |= self.packet.json()
        facts["transmits"] = [
            {
                "kind": packet.kind,
                "message": packet.message,
                "to": packet.destination,
                **({"control": True} if packet.control and packet.message is not None else {}),
                **packet.json(),
            }
            for packet in self.transmits
        ]
        facts["happens"] = [{"event": kind, "message": message} for kind, message in self.happened]
        if self.by_channel:
            facts["by_channel"] = True
        if self.outcome:
            facts["outcome"] = self.outcome
        return facts

    def say(self) -> str:
        """In words: ``P1: send m1 to P3``."""
        return f"{printable_name(self.process)}: {self.deed()}{self.remark()}"

    def deed(self) -> str:
        """The action without its process and effects: ``send m1 to P3``."""
        packet, named = self.packet, self.message
        origin = f" from {printable_name(packet.source)}" if packet else ""
        if packet and self.by_channel:
            named = packet.label
        elif packet and (named or self.action != ARRIVES):
            named = numbered_name(named or "", packet.which).strip()
        elif packet and packet.which:  # the action does not name the kind
            origin += f" ({printable_name(packet.label)})"
        receivers = f" to {', '.join(map(printable_name, self.to))}" if self.to else ""
        return f"{printable_name(self.action)}{f' {printable_name(named)}' if named else ''}{receivers}{origin}"

    def remark(self) -> str:
        """The application events that the action's name does not imply; all of them, in order, if it delivers several
        messages, or something else first.
        """
        own = (self.action, self.message)
        if self.delivers_several or own in self.happened[1:]:
            further = [in_order(self.happened)]
        else:
            further = [_said(*event) for event in self.happened if event != own]
        if self.action == "send" and ("send", self.message or "") not in self.happened:
            further.append("not sent yet")
        return f" ({', '.join(further)})" if further else ""

    @property
    def delivers_several(self) -> bool:
        """True if it delivers several messages: then their order matters."""
        return sum(kind == "deliver" for kind, _ in self.happened) > 1


def numbered_name(name: str, which: str) -> str:
    """A name followed by a number, which is printed even if the name is so long that it is cut."""
    shown, room = printable_name(name), LONGEST_NAME - len(which)
    return f"{shown if len(shown) <= room else shown[: room - 1] + '…'}{which}" if which else name


def _said(kind: str, message: str) -> str:
    return f"{printable_name(kind)}s {printable_name(message)}"


def in_order(events: Sequence[tuple[str, str]]) -> str:
    """Application events in words, in the order in which they happen: ``delivers m2, then m1``."""
    kinds = ["", *(kind for kind, _ in events)]
    return ", then ".join(
        printable_name(message) if kind == before else _said(kind, message)
        for before, (kind, message) in zip(kinds, events, strict=False)
    )


@dataclass(frozen=True, repr=False)
class ActionsOfRun:
    """The actions of a run in their order, and what is known of its states."""

    processes: tuple[str, ...]
    actions: tuple[ShownAction, ...]
    #: The name of each message here; empty for a run read from JSON.
    names: Mapping[Message, str] = field(default_factory=dict, compare=False)
    #: The protocol's own state at each process, at the end and at the beginning; empty if unknown.
    local_states: Sequence[Any] = field(default=(), compare=False)
    initial_states: Sequence[Any] = field(default=(), compare=False)
    #: The property that it was found to violate.
    breaks: str | None = field(default=None, compare=False)
    #: The actions that can follow again and again, so that the run never ends.
    loop: tuple[ShownAction, ...] = field(default=(), compare=False)
