"""Where the `crownless` command starts: an interrupt or a fault has its exit code while all is imported, too."""

import signal
import sys
import traceback


def main() -> None:
    """The `crownless` command."""
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        from crownless.command_line import main as crownless
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception:  # the installation is broken, or there is no memory for it
        traceback.print_exc()
        sys.exit(70)
    crownless()
