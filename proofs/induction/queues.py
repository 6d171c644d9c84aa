"""The proof of a protocol of queues: invariants of its abstraction (`queue_abstraction`), by induction.

z3 shows the result of the abstraction, for any number of processes and messages. It is proved of a protocol only if the
steps of its machine are shown to be those of the abstraction (`step_refinement`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crownless.impl.protocol import ProtocolMachine
from crownless.proofs.language.ground import three_of_each

from .proved_properties import ProvedProperty
from .queue_abstraction import Abstraction, Invariants, MachineView, SymbolicLogic, Truth, fixed_by
from .theorem import Claim, never

#: Claims by name: the hypotheses besides the invariants, and the conclusion.
Given = Mapping[str, tuple[Mapping[str, Truth], Truth]]


@dataclass(frozen=True)
class QueueProof:
    """A proof about an abstraction of a protocol."""

    protocol: type[ProtocolMachine]
    abstraction: type[Abstraction]
    invariants: Invariants
    #: The properties shown: the meaning of each, and the claims that follow from the invariants.
    follows: Mapping[str, tuple[str, Callable[[Any], Given]]]
    #: A state that the proof is about: it must be possible.
    eventful: Callable[[Any], Mapping[str, Truth]]
    #: The machine's local states and the packets in flight, in a state of the abstraction.
    view: MachineView
    assumed: Sequence[str]
    #: The hypotheses about processes.
    axioms: Invariants = field(default_factory=dict)
    #: For an invariant, the others used to show that it is kept; all by default.
    kept_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: True if the text admits self-sends.
    self_sends: bool = False
    #: The order of which *safe* speaks.
    order: str = "causal"
    #: The subject of the proof.
    of: str = "its code, by an abstraction"

    @property
    def remark(self) -> str:
        return "of an abstraction of its queues: the stages that a message goes through, and when it came to each"

    def __repr__(self) -> str:
        return f"<proof of {self.protocol.__name__}>"

    @property
    def shown(self) -> Mapping[str, ProvedProperty]:
        """The properties shown."""
        return {name: ProvedProperty(meaning, ("invariants", name)) for name, (meaning, _) in self.follows.items()}

    def claims(self) -> dict[str, list[Claim]]:
        """The claims to put to z3, by the part of the proof."""
        run = self.abstraction()
        now = self.now(run)
        claims = {"invariants": self._induction(run, now)}
        for part, (_, follows) in self.follows.items():
            claims[part] = [Claim(name, {**now, **given}, shows) for name, (given, shows) in follows(run).items()]
        return claims

    def now(self, run: Abstraction) -> dict[str, Truth]:
        """The hypotheses about any state."""
        all_said = {**self.axioms, **self.invariants}
        return {name: holds(run, run.before, run.logic) for name, holds in all_said.items()}

    def _induction(self, run: Abstraction, now: Mapping[str, Truth]) -> list[Claim]:
        start = run.start()
        claims = [
            Claim(f"{name}: at the start", {}, holds(run, start, run.logic)) for name, holds in self.invariants.items()
        ]
        for event in run.events():
            happens = {**event.given, **fixed_by(run, event)}
            for name, holds in self.invariants.items():
                given = {other: now[other] for other in (*self.axioms, name, *self.kept_by.get(name, now))}
                shows = holds(run, event.after, run.logic)
                claims.append(Claim(f"{name}: kept by {event.name}", {**given, **happens}, shows))
        return claims

    def vacuity(self) -> list[Claim]:
        """Among three processes and three messages, no state that satisfies the invariants admits the proof's
        situation, or any of the events: each to be refuted.
        """
        process, message, things = three_of_each()
        run = self.abstraction(SymbolicLogic(process, message))
        events = {f"{event.name}: never": {**event.given, **fixed_by(run, event)} for event in run.events()}
        return never(self.now(run), {"vacuous": self.eventful(run), **events}, things)
