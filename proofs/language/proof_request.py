"""The options of a proof that command line and Python share, and how much work z3 is allowed."""

from dataclasses import KW_ONLY, dataclass, field

from crownless.impl.protocol import ProtocolMachine
from crownless.runtime.requests import option

#: The steps that z3 is allowed: for an attempt at a claim, ten times the need of nearly all theorems here; and for a
#: query about a program.
EFFORT = 2_000_000
EFFORT_OF_PROGRAM = 100_000_000


@dataclass(frozen=True)
class ProofRequest:
    """A request to prove a protocol, for any number of processes and messages."""

    protocol: str | type[ProtocolMachine] | ProtocolMachine = field(
        metadata=option("The protocol: its name, `hub.py:Hub`, `package.module:Class`, its class, or a machine.")
    )
    _: KW_ONLY
    effort: int | None = field(
        default=None,
        metadata=option(
            f"z3 steps per attempt at a claim ({EFFORT:,}) or at a query about a program ({EFFORT_OF_PROGRAM:,}).",
            "number",
            "--effort",
        ),
    )
