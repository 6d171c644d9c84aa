"""The command line, as `python -m crownless`."""

from crownless.start import main

main()
