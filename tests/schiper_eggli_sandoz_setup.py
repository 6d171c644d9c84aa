"""What the tests that replay [SES] share."""

from __future__ import annotations

from typing import Any

from replay import Recorder, Replay, over, violations

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check
from crownless.model_check.system.properties import NEVER_BLOCKS, properties_of
from crownless.model_check.system.system import System
from crownless.spec import notation


def names(packet: Packet) -> list[str]:
    """The messages that a packet of ISIS carries, in order."""
    return [message.name for message in packet.stamp]


def pairs(buffer: Any) -> dict[str, tuple[int, ...]]:
    """ORD_BUFF_S: site → time vector."""
    return {f"S{k + 1}": tuple(pair) for k, pair in enumerate(buffer) if any(pair)}


def everything(kind: type[ProtocolMachine], n: int, m: int, crash: str | None = None) -> System:
    """Any site may send to any other, m messages in all; the computation so far is remembered."""
    return over(kind(n), Free(n, m), crash=crash, monitors=(Recorder(n),))


#: Fig. 6, but that S3 goes on and another site hears from it.
FIG_6_AND_ON = """
S1: send M1 to S2; send M2 to S3
S2: receive; receive; receive; receive
S3: receive; send M3 to S2; send M4 to S2; send M5 to S4; receive
S4: receive; send M6 to S2
"""


class Failing(Replay):
    """A run in which S1 may crash."""

    def __init__(self, kind: type[ProtocolMachine], program: str) -> None:
        super().__init__(kind, program, crash="S1")


def fails(kind: type[ProtocolMachine], program: str) -> dict[str, int]:
    """What breaks if S1 may crash: property → length of the run shown.

    Receives that nothing is left for do not count, so a program may have some to spare.
    """
    script = notation.parse(program)
    decided = properties_of(kind(len(script.processes)), ("causal",), program=False)
    properties = tuple(known for known in decided if known != NEVER_BLOCKS)
    request = Check(kind, program=script, channel="unordered", orders=("causal",), crash="S1", properties=properties)
    return violations(run_check(request))


#: Fig. 6, but that S3 may deliver M2 and then W, which has nothing to do with S1.
DELIVERED_BEFORE = """
S1: send M1 to S2; send M2 to S3
S2: send W to S3; receive; receive; receive
S3: receive; receive; send M3 to S2; receive; receive; receive
"""

#: Z, which waits for M1, may still be in flight when Q informs S3 of P. Then N is 3, and Z depends on event 2 only.
ONCE_MORE = """
S1: send M1 to S2; send M2 to S3; send P to S3; send Q to S3
S2: receive; receive
S3: receive; send Z to S2; receive; receive; receive; receive
"""
