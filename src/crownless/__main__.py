"""``python -m crownless``: the command line."""

from crownless.command_line import main

main()
