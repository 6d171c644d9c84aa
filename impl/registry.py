"""The bundled protocols by name, one line per protocol; every check, test, table and drawing goes through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from crownless.runtime.errors import unknown_name

from . import own_protocols
from .protocol import ProtocolMachine

#: name → file in `protocols`, and class.
_WHERE = {
    "unordered": "unordered.Unordered",
    "fifo-sequence": "fifo_sequence.FifoSequence",
    "fifo-ack": "fifo_ack.FifoAck",
    "rendezvous": "rendezvous.Rendezvous",
    "isis": "isis.Isis",
    "isis-gc": "isis_gc.IsisGc",
    "isis-gc-waits": "isis_gc.IsisGcWaits",
    "cbcast": "cbcast.Cbcast",
    "kearns": "kearns.Kearns",
    "rst": "rst.Rst",
    "rst-before": "rst_before.RstBefore",
    "rst-sent-alone": "rst_variants.RstSentAlone",
    "rst-column": "rst_variants.RstColumn",
    "ses": "ses.Ses",
    "ses-delete": "ses_delete.SesDelete",
    "ses-multicast": "ses_multicast.SesMulticast",
    "ses-rollback": "ses_rollback.SesRollback",
    "buffer": "buffer.Buffer",
    "buffer-pipelined": "buffer_pipelined.BufferPipelined",
    "buffer-bounded": "buffer_bounded.BufferBounded",
    "murty-garg": "murty_garg.MurtyGarg",
    "extra-messages": "extra_messages.ExtraMessages",
    "optimal": "optimal.Optimal",
}


@cache
def _load(where: str) -> type[ProtocolMachine]:
    module, name = where.split(".")
    kind: type[ProtocolMachine] = getattr(import_module(f"{__package__}.protocols.{module}"), name)
    assert issubclass(kind, ProtocolMachine), f"{where} is not a protocol machine"
    return kind


class _Protocols(Mapping[str, type[ProtocolMachine]]):
    """The protocols by name; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> type[ProtocolMachine]:
        return _load(_WHERE[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_WHERE)

    def __len__(self) -> int:
        return len(_WHERE)

    def __contains__(self, name: object) -> bool:
        return name in _WHERE


PROTOCOLS: Mapping[str, type[ProtocolMachine]] = _Protocols()


def protocol_named(name: str) -> type[ProtocolMachine]:
    """The protocol of that name, which may also be `file.py:Class`, `package.module:Class`, or one that an installed
    package registers; raises `BadInput` with the nearest name otherwise.
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if own_protocols.is_own(name):
        return own_protocols.load(name)
    if name in own_protocols.registered():
        return own_protocols.load_registered(name)
    raise unknown_name("protocol", name, [*PROTOCOLS, *own_protocols.registered()])


def name_of(kind: type[ProtocolMachine]) -> str:
    """The name of a protocol in reports; unless bundled, the name by which it was loaded, or that of the class."""
    return _bundled_name(kind) or own_protocols.name_when_loaded(kind) or kind.__name__


def qualified_name_of(kind: type[ProtocolMachine]) -> str:
    """A name that finds it again; unless it is bundled, the name by which it was loaded, or `module:Class`."""
    return _bundled_name(kind) or own_protocols.name_when_loaded(kind) or f"{kind.__module__}:{kind.__qualname__}"


def is_bundled(kind: type[ProtocolMachine]) -> bool:
    """True if it is one of the protocols of this package."""
    return _bundled_name(kind) is not None


def _bundled_name(kind: type[ProtocolMachine]) -> str | None:
    package, _, module = kind.__module__.rpartition(".")
    where = f"{module}.{kind.__qualname__}" if package == f"{__package__}.protocols" else None
    return next((name for name, known in _WHERE.items() if known == where), None)
