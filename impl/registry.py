"""The protocols by name. One line a protocol: everything that checks, tests, draws or lists goes through here."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

from crownless.spec.errors import unknown_name

from .protocol import ProtocolMachine

#: name → file and class in this folder.
_WHERE = {
    "unordered": "unordered.Unordered",
    "rst": "rst.Rst",
    "buffer": "buffer.Buffer",
    "murty-garg": "murty_garg.MurtyGarg",
}


def _load(where: str) -> type[ProtocolMachine]:
    module, name = where.split(".")
    kind: type[ProtocolMachine] = getattr(import_module(f".{module}", __package__), name)
    assert issubclass(kind, ProtocolMachine), f"{where} is no protocol machine"
    return kind


PROTOCOLS: MappingProxyType[str, type[ProtocolMachine]] = MappingProxyType(
    {name: _load(where) for name, where in _WHERE.items()}
)


def protocol_named(name: str) -> type[ProtocolMachine]:
    """The protocol of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in PROTOCOLS:
        raise unknown_name("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]
