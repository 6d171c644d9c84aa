"""Start and end of the `crownless` command: interrupts and faults have their exit codes even during imports.

It ends without Python's teardown: freeing millions of objects takes seconds.
"""

import atexit
import os
import signal
import sys
import traceback
from contextlib import suppress

#: The default exit code.
_code = 70


def main() -> None:
    """The `crownless` command."""
    global _code
    atexit.register(_end)  # registered first, so that it is called last
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, lambda *_: os._exit(130))  # until `runtime.ending` watches
        from .command_line import main as crownless

        crownless()
    except SystemExit as ended:
        _code = ended.code if isinstance(ended.code, int) else 0
    except MemoryError:
        os.write(2, b"crownless: out of memory before any result; use a smaller bound\n")
        _code = 3
    except Exception:  # the installation is broken
        traceback.print_exc()


def _end() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # it cannot be written, or is closed
            stream.flush()
    os._exit(_code)
