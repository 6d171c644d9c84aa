"""The command line, as `python -m crownless`."""

from .start import main

main()
