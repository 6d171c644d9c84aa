"""``python -m crownless``: the command line."""

from crownless.start import main

main()
