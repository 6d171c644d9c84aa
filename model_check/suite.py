"""What `crownless check` runs when no protocol is named: every protocol as its text has it, and where each is known to
need what it asks for.

A row that must fail is as much a part of it as one that must hold.
"""

from __future__ import annotations

from crownless.impl.registry import PROTOCOLS

from .asking import Check, load_program

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

#: Programs that show what the free workload cannot, or only at a bound that takes too long: protocol, program.
PROGRAMS = (
    ("isis-gc", "ses-program-1"),
    ("isis-gc-waits", "ses-program-1"),
    ("rendezvous", "mf-fig1"),
    ("buffer", "mf-fig1"),
    ("buffer-bounded", "mf-footnote-2"),
)


def checks() -> list[Check]:
    """Every protocol over the channel it needs, those that need FIFO also without it, and the special uses."""
    found = []
    for name, kind in PROTOCOLS.items():
        found.append(Check(name))
        if kind.needs_channel == "fifo":
            found.append(Check(name, channel="unordered"))
        found += [check for check in SPECIAL if check.protocol == name]
        for protocol, program in PROGRAMS:
            if protocol == name:
                script, _ = load_program(program)
                found.append(Check(name, program=script, program_name=program))
    return found
