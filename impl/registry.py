"""The protocols by name. One line a protocol: everything that checks, tests, draws or lists goes through here."""

from __future__ import annotations

from types import MappingProxyType

from crownless.spec.errors import unknown_name

from .buffer import Buffer
from .murty_garg import MurtyGarg
from .protocol import ProtocolMachine
from .rst import Rst
from .unordered import Unordered

PROTOCOLS: MappingProxyType[str, type[ProtocolMachine]] = MappingProxyType(
    {
        "unordered": Unordered,
        "rst": Rst,
        "buffer": Buffer,
        "murty-garg": MurtyGarg,
    }
)


def protocol_named(name: str) -> type[ProtocolMachine]:
    """The protocol of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in PROTOCOLS:
        raise unknown_name("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]
