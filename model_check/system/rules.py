"""The rules of a protocol that were exercised, by local transition.

Each local transition is examined once, when it is tabulated, and counts when it is taken. A refused input counts
where it can be given: a send only while the bound leaves one.

So it costs the search next to nothing, and splits no states. Where processes share tables, a transition stands for
its images at the others: a rule that process 0 does not exercise is examined at them too.
"""

from collections.abc import Callable, Iterable
from typing import Any

from crownless.impl.protocol import Packet, ProtocolMachine, Rule, Transition, name_of_arrival

from .machine_calls import MachineCalls
from .properties import HOLDS_BACK, RELEASES


class Exercised:
    """The rules exercised so far, by name: the machine's own, and `holds-back` and `releases` of any guard."""

    def __init__(self, calls: MachineCalls, images: Callable[[Transition], Iterable[Transition]] | None = None) -> None:
        """`images`: the other transitions that a transition stands for; None: there are none."""
        self._calls, machine = calls, calls.machine
        self._rules = machine.rules
        self._images = images
        self.reached: set[str] = set()
        #: True until some packet was held back and later accepted; then the guard's decisions show nothing new.
        self.awaits_release = self._guards = type(machine).deliverable is not ProtocolMachine.deliverable
        #: The guard's decisions on each packet in any local state, until then.
        self._held_back: set[Packet] = set()
        self._let_in: set[Packet] = set()
        self._left: list[tuple[str, Rule]] = []
        self._reached_then = -1

    @property
    def left(self) -> list[tuple[str, Rule]]:
        """The machine's own rules that were not exercised yet."""
        if len(self.reached) != self._reached_then:
            self._reached_then = len(self.reached)
            self._left = [(name, holds) for name, holds in self._rules.items() if name not in self.reached]
        return self._left

    def guard(
        self, process: int, state: Any, packet: Packet, *, accepted: bool, known_as: Packet | None = None
    ) -> None:
        """The guard was called with a packet that is there. If states that differ only by names are merged, `known_as`
        is the same for all packets that differ only by names.
        """
        if not self._guards or (accepted and not self.awaits_release):
            return
        if not accepted:
            self.reached.add(HOLDS_BACK.name)
            if self.left:
                self.add(Transition(process, state, name_of_arrival(packet), packet.message, packet))
        if self.awaits_release:
            of_this, of_other = (self._let_in, self._held_back)[:: 1 if accepted else -1]
            of_this.add(known_as or packet)
            if (known_as or packet) in of_other:
                self.reached.add(RELEASES.name)
                self.awaits_release = False
                self._held_back.clear()
                self._let_in.clear()

    def by(self, transition: Transition) -> list[str]:
        """The rules that this transition is the first to exercise."""
        left = self.left
        found = [name for name, holds in left if self._calls.exercises(name, holds, transition)]
        if self._images is None or len(found) == len(left):
            return found
        missing = {name: holds for name, holds in left if name not in found}
        for image in self._images(transition):
            for name in [name for name, holds in missing.items() if self._calls.exercises(name, holds, image)]:
                found.append(name)
                del missing[name]
            if not missing:
                break
        return found

    def add(self, transition: Transition) -> None:
        """The input of this transition was refused."""
        self.reached.update(self.by(transition))
