"""Where the `crownless` command starts: what takes a while to import may be interrupted like all else."""

import sys


def main() -> None:
    """The `crownless` command."""
    try:
        from crownless.command_line import main as crownless

        crownless()
    except KeyboardInterrupt:
        print("crownless: interrupted", file=sys.stderr)
        sys.exit(130)
