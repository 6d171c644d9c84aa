"""Message order in distributed systems: specified, checked within a bound, and proved for any number of processes.

import crownless as cr
cr.check("rst", 3, 4)                      # every interleaving of 4 messages among 3 processes
cr.classify("P1: send x to P2; send y to P2\\nP2: receive y; receive x")["fifo"]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .runtime import research_parts

if TYPE_CHECKING:
    from crownless.api import classify as classify
    from crownless.api import draw as draw
    from crownless.api import parse as parse
    from crownless.api import program as program
    from crownless.api import read_log as read_log
    from crownless.api_of_nodes import conform as conform
    from crownless.api_of_nodes import conform_at_random as conform_at_random
    from crownless.api_of_nodes import replay as replay
    from crownless.api_of_protocols import check as check
    from crownless.api_of_protocols import count as count
    from crownless.api_of_protocols import prove as prove
    from crownless.api_of_protocols import realize as realize
    from crownless.api_of_protocols import states as states
    from crownless.impl.protocol import AppEvent as AppEvent
    from crownless.impl.protocol import Packet as Packet
    from crownless.impl.protocol import Parameter as Parameter
    from crownless.impl.protocol import Protocol as Protocol
    from crownless.impl.protocol import Step as Step
    from crownless.impl.protocol import Transition as Transition
    from crownless.impl.protocol import delivered as delivered
    from crownless.impl.protocol import sent as sent
    from crownless.research.api import knobs as knobs
    from crownless.runtime.errors import BadInput as BadInput
    from crownless.runtime.errors import NoSuchName as NoSuchName
    from crownless.runtime.errors import Undecided as Undecided
    from crownless.spec.computation import Computation as Computation
    from crownless.spec.computation import Message as Message
    from crownless.spec.recorder import Recorder as Recorder
_IMPORTED_WHEN_USED = {
    ".api": "classify draw parse program read_log",
    ".api_of_nodes": "conform conform_at_random replay",
    ".api_of_protocols": "check count prove realize states",
    ".impl.protocol": "AppEvent Packet Parameter Protocol Step Transition delivered sent",
    ".spec.computation": "Computation Message",
    ".runtime.errors": "BadInput NoSuchName Undecided",
    ".spec.recorder": "Recorder",
    **research_parts.names(),
}
__all__ = sorted(name for names in _IMPORTED_WHEN_USED.values() for name in names.split())


def __getattr__(name: str) -> Any:
    if name == "testing":
        return import_module(".testing", __name__)
    home = next((module for module, names in _IMPORTED_WHEN_USED.items() if name in names.split()), None)
    if home is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return globals().setdefault(name, getattr(import_module(home, __name__), name))


def __dir__() -> list[str]:
    return [*__all__, "testing"]
