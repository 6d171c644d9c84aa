"""The properties that a proof may show of a protocol: what each says, and what follows from it for other protocols.

A message *waits only for causes* if nothing else keeps it back: that is what z3 shows, of each state of a run. It is no
comparison of protocols: one with other messages, or with other ways to carry them, may deliver a message sooner.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from crownless.runtime.printable import in_brackets

SAFE, WAITS, LIVE = "safe", "waits_only_for_causes", "live"
#: The properties that may be shown of a protocol; each proof gives their meaning, or leaves them out.
SHOWN = (SAFE, WAITS, LIVE)


class ProvedProperty(NamedTuple):
    """A property shown of a protocol."""

    means: str
    #: The parts of the proof that it needs.
    parts: tuple[str, ...]
    #: Its consequence for other protocols, with the hypotheses; argued in words.
    follows: str = ""

    def __repr__(self) -> str:
        return in_brackets(self.means)


#: What a proof of causal order shows.
OF_CAUSAL_ORDER: Mapping[str, ProvedProperty] = {
    SAFE: ProvedProperty(
        "a message is delivered after all that was sent to its receiver causally before it", ("invariants", SAFE)
    ),
    WAITS: ProvedProperty(
        "a message that has arrived waits only while one that was sent causally before it to the same receiver is not "
        "delivered",
        ("invariants", WAITS),
        "delivered as soon as it is accepted, a message is delivered no later than by any protocol that keeps causal "
        "order and delivers each message from its own packet, in a run with the same sends, happened-before and "
        "arrivals; a protocol that also carries messages in other packets, such as isis, can deliver it sooner",
    ),
    LIVE: ProvedProperty(
        "the earliest message in flight is accepted, so each is eventually delivered", ("invariants", WAITS, LIVE)
    ),
}


def assumptions_used(assumed: Sequence[str], proved: Collection[str]) -> list[str]:
    """The assumptions that the proved properties use: one that begins with the name of a property, by that one alone.

    >>> assumptions_used(["packets may be lost", "live: nothing is lost"], ["safe"])
    ['packets may be lost']
    """
    others = {shown for shown in SHOWN if shown not in proved}
    return [each for each in assumed if each.partition(":")[0] not in others] if proved else []


def in_words(name: str) -> str:
    """The name of a property, as printed."""
    return name.replace("_", " ")
