"""Start and end of the `crownless` command: an interrupt or a fault has its exit code while all is imported, too.

It ends without Python's taking everything down: to free millions of objects takes seconds, and what solvers keep in
other threads may be in the way.
"""

import atexit
import os
import signal
import sys
import traceback
from contextlib import suppress

#: With which it ends, should nothing else be known.
_code = 70


def main() -> None:
    """The `crownless` command."""
    global _code
    atexit.register(_end)  # the first, so that it is called after all others
    try:
        _run()
    except SystemExit as ended:
        _code = ended.code if isinstance(ended.code, int) else 0
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)  # all is said; nothing is left to be broken off
        raise


def _run() -> None:
    usual = (signal.SIG_DFL, signal.default_int_handler)
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) in usual:
                signal.signal(number, _interrupted)
        from crownless.command_line import main as crownless

        crownless()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:  # the installation is broken, or there is no memory for it
        if _lacks_memory(error):
            os.write(2, b"crownless: out of memory, and nothing is known yet; request less, or raise ulimit -v\n")
            sys.exit(71)
        traceback.print_exc()
        sys.exit(70)


def _interrupted(*_: object) -> None:
    """Ends it where nothing watches over signals yet: an exception might be lost in the midst of an import."""
    global _code
    _code = 130
    _end()


def _lacks_memory(error: Exception) -> bool:
    try:
        from crownless.spec.memory import lacks_memory

        return lacks_memory(error)
    except (ImportError, MemoryError):
        return isinstance(error, MemoryError)


def _end() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError, RuntimeError):  # it cannot be written, or is closed
            stream.flush()
    os._exit(_code)
