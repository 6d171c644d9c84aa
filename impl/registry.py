"""The bundled protocols by name, one line per protocol; every check, test, table and drawing goes through it."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from os.path import isfile

from crownless.runtime import research_parts
from crownless.runtime.errors import BadInput, unknown_name

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


#: The same the other way round, by full names of modules and classes.
_NAMES = {f"{__package__}.protocols.{where}": name for name, where in _WHERE.items()}


class _Protocols(Mapping[str, type[ProtocolMachine]]):
    """The protocols by name; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> type[ProtocolMachine]:
        module, _, class_name = _WHERE[name].partition(".")
        kind: type[ProtocolMachine] = getattr(import_module(f"{__package__}.protocols.{module}"), class_name)
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(_WHERE)

    def __len__(self) -> int:
        return len(_WHERE)

    def __contains__(self, name: object) -> bool:
        return name in _WHERE


PROTOCOLS: Mapping[str, type[ProtocolMachine]] = _Protocols()


def is_in_brackets(name: str) -> bool:
    """True if this names a combination of knobs."""
    return name.endswith("]") or ("[" in name and not isfile(name.partition(":")[0]))


def protocol_named(name: str, called: str = "protocol", others: Iterable[str] = ()) -> type[ProtocolMachine]:
    """The protocol of that name, which may also be `file.py:Class`, `package.module:Class`, one that an installed
    package registers, or a combination of knobs, such as `rst[guard: nothing]`; raises `BadInput` with the nearest name
    otherwise. `called`, `others`: what such a name is called there, and the names that are possible beside protocols.
    """
    if name in _WHERE:
        return PROTOCOLS[name]
    if is_in_brackets(name):
        kind: type[ProtocolMachine] = research_parts.protocol_in_brackets(name)
        return kind
    if own_protocols.is_own(name):
        return own_protocols.load(name)
    if name in own_protocols.registered():
        return own_protocols.load_registered(name)
    nearby = own_protocols.class_nearby(name)
    if nearby is not None:
        raise BadInput(f"unknown protocol '{name}'", hint=f"did you mean {nearby}?")
    if isfile(name):  # false also for a name that no file can have
        hint = "crownless conform drives a program, crownless classify reads a log or a computation"
        raise BadInput(f"{name} is a file, not a protocol", hint=hint)
    raise unknown_name(called, name, [*others, *PROTOCOLS, *own_protocols.registered()])


def name_of(kind: type[ProtocolMachine]) -> str:
    """The name of a protocol in reports; unless bundled, the name by which it was loaded, or that of the class."""
    return _NAMES.get(f"{kind.__module__}.{kind.__qualname__}") or own_protocols.name_when_loaded(kind) or kind.__name__


def qualified_name_of(kind: type[ProtocolMachine]) -> str:
    """A name that finds it again; unless it is bundled, the name by which it was loaded, or `module:Class`."""
    if is_bundled(kind):
        return name_of(kind)
    return own_protocols.name_when_loaded(kind) or f"{kind.__module__}:{kind.__qualname__}"


def is_bundled(kind: type[ProtocolMachine]) -> bool:
    """True if it is one of the protocols of this package."""
    named = f"{kind.__module__}.{kind.__qualname__}"
    return named in _NAMES and getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind
