"""The form of a protocol in which its invariants are discovered, where it is not the form that runs."""

from __future__ import annotations

from typing import NamedTuple

from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import protocol_named
from crownless.proofs.extra_messages import OneMessagePerStep


class ExtraMessagesOneMessagePerStep(OneMessagePerStep, ExtraMessages):
    """Its updates and its guard, on whole matrices, without the choice of when to send an extra message."""


class Form(NamedTuple):
    name: str
    machine: type[ProtocolMachine]
    remark: str = ""


FORMS = {
    "extra-messages": Form(
        "extra-messages", ExtraMessagesOneMessagePerStep, "of its updates and its guard, in runs without extra messages"
    )
}


def form_of(protocol: str | type[ProtocolMachine]) -> Form:
    """The form of a protocol, given by name, or of a machine."""
    if isinstance(protocol, str):
        return FORMS.get(protocol) or Form(protocol, protocol_named(protocol))
    return Form(protocol.__name__, protocol)
