"""Why a planted fault breaks no property, although it strikes."""

from __future__ import annotations

from typing import NamedTuple

from planted_faults import Key


class Reason(NamedTuple):
    """Why these faults of these protocols break no property."""

    protocols: tuple[str, ...]
    #: How the names of the faults begin.
    faults: tuple[str, ...]
    why: str


REASONS: tuple[Reason, ...] = (
    Reason(
        ("isis", "isis-gc", "isis-gc-waits"),
        ("send sends its packets twice",),
        "what the second packet brings is in the buffer already; it is deleted there only after an acknowledgement of "
        "the sender, which on a FIFO link comes behind both",
    ),
    Reason(
        ("cbcast", "rst-before"),
        ("send sends its packets twice",),
        "the guard asks for exactly one more than is delivered: the second packet waits in the channel for ever",
    ),
    Reason(
        ("ses-rollback",),
        ("on_packet says unsend twice", "on_packet says orphan twice"),
        "the monitors take an event that is undone twice for one that is undone once",
    ),
    Reason(
        ("isis-gc", "isis-gc-waits"),
        ("on_packet leaves requested as it was",),
        "what a request named is read at its last acknowledgement alone, and the next request overwrites it before",
    ),
)


def reasons_for(key: Key) -> list[Reason]:
    """All that say why this fault breaks no property."""
    protocol, _, fault = key
    return [reason for reason in REASONS if protocol in reason.protocols and fault.startswith(reason.faults)]


def reason_for(key: Key) -> str:
    """Why this fault breaks no property."""
    (reason,) = reasons_for(key)
    return reason.why
