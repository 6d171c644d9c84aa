"""What `crownless check` runs when no protocol is named: every protocol as its text has it, and where each is known to
need what it asks for.

A row that must fail is as much a part of it as one that must hold.
"""

from __future__ import annotations

from crownless.impl.registry import PROTOCOLS

from .request import Check, load_program

#: Uses that a text warns of, or for which it claims something of its own.
SPECIAL = (
    Check("cbcast", sends="unicast"),
    Check("ses", crash="P1"),
    Check("isis", crash="P1"),
    Check("ses-rollback", crash="P1"),
    Check("rst", processes=2, messages=3, self_sends=True),
    Check("rst-before", processes=2, messages=3, self_sends=True),
    Check("rst-sent-alone", processes=2, messages=3, self_sends=True),
    Check("buffer", processes=2, messages=3, self_sends=True),
    Check("extra-messages", parameters={"k": 3}),
)

#: Programs that show what a text claims of them: protocol, program.
PROGRAMS = (
    ("rendezvous", "mf-fig1"),
    ("buffer", "mf-fig1"),
    ("buffer-bounded", "mf-footnote-2"),
)


def own_checks(protocol: str) -> list[Check]:
    """The protocol as its text has it, at its own bound; and beside that what exercises rules that need more."""
    return [Check(protocol), *(check for check in _beside() if check.protocol == protocol)]


def _beside() -> list[Check]:
    """Larger bounds, where they take seconds, otherwise programs."""
    return [
        _program("isis-gc", "ses-program-1"),
        _program("isis-gc-waits", "ses-program-1"),
        _program("ses-rollback", "rewinding", crash="P1"),
        Check("murty-garg", processes=4, messages=3),
        Check("extra-messages", processes=3, messages=6),
        _program("extra-messages", "several-extra-messages"),
    ]


def _program(protocol: str, name: str, crash: str | None = None) -> Check:
    return Check(protocol, program=load_program(name), crash=crash)


def checks() -> list[Check]:
    """Every protocol as its text has it, those that need FIFO channels also without them, and the special uses."""
    found = []
    for name, kind in PROTOCOLS.items():
        found += own_checks(name)
        if kind.needs_channel == "fifo":
            found.append(Check(name, channel="unordered"))
        found += [check for check in SPECIAL if check.protocol == name]
        found += [_program(name, program) for protocol, program in PROGRAMS if protocol == name]
    return found
