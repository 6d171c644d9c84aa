"""Shell completion of protocol names, in addition to verbs and options. See docs/command_line.md."""

import click
from click.shell_completion import CompletionItem

from crownless.impl.registry import PROTOCOLS


def complete_protocol(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The bundled protocols whose names have this prefix; or else files, which may hold a protocol."""
    known = [CompletionItem(name) for name in PROTOCOLS if name.startswith(incomplete)]
    return known or [CompletionItem(incomplete, type="file")]
