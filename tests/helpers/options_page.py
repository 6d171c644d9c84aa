"""The reference page of all options, made from the commands themselves.

`tests/helpers/goldens.py` writes it anew.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import click

from crownless.command_line import crownless

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
HEAD = """# All options

The options of every command, including those that only `--help-all` shows. [Command line](command_line.md) explains how
they work together.
"""


def options_page() -> str:
    """The page: for each command its usage, and a row for each option."""
    context = crownless.make_context("crownless", [], resilient_parsing=True)
    parts = [HEAD]
    for name in sorted(crownless.list_commands(context)):
        command = crownless.get_command(context, name)
        assert command is not None
        of_it = command.make_context(name, [], parent=context, resilient_parsing=True)
        usage = " ".join(["crownless", name, *command.collect_usage_pieces(of_it)])
        options = [each for each in command.get_params(of_it) if isinstance(each, click.Option)]
        rows = [record for each in options if (record := each.get_help_record(of_it))]
        parts += [f"\n## {name}\n\n{command.get_short_help_str(200)}\n\n`{usage}`\n\n| option | meaning |\n|---|---|\n"]
        parts += [f"| <code>{_in_a_cell(option)}</code> | {_in_a_cell(meaning)} |\n" for option, meaning in rows]
    return "".join(parts)


def _in_a_cell(text: str) -> str:
    """The text on one line, with nothing that ends a cell or begins an element."""
    return escape(re.sub(r"\s+", " ", text).strip(), quote=False).replace("|", "&#124;")


def rewrite_options() -> None:
    """Writes the page as it is now."""
    PAGE.write_text(options_page(), "utf-8")
