"""The import of a user's own protocols, which may take long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS, protocol_named
from crownless.runtime.ending import Limits, look, stoppable

from .output import ended_with_nothing


def import_protocols(
    names: Iterable[str], limits: Limits | None = None, answer: Mapping[str, Any] | None = None
) -> None:
    """Imports those of these protocols that are the user's own, within the limits for each; what has ended early ends
    the verb. `answer`: what is printed then as JSON.
    """
    for name in names:
        if name in PROTOCOLS or not (own_protocols.is_own(name) or name in own_protocols.registered()):
            continue
        with stoppable(limits) as part:
            protocol_named(name)
            look()
        if part.reason is not None:
            raise click.exceptions.Exit(ended_with_nothing(part, answer))
