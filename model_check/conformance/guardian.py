"""Ends the programs of nodes when the harness ends, also where it is killed.

A small process of its own reads from a pipe which groups of processes there are. When the pipe closes it ends them, and
all processes that carry the mark of this harness in their environment: nodes may start others, in other groups.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

#: The variable of the environment by which processes are known that a node started.
MARK = "CROWNLESS_NODES"
#: So many looks in a row must find no process left; it is looked for no longer than so many seconds.
LOOKS, ENDS_WITHIN = 2, 5.0


class Guardian:
    """The other process; `environment` is that of nodes."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, MARK: self.mark}
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, self.mark],
            stdin=subprocess.PIPE,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def started(self, group: int) -> None:
        """A group of processes was started."""
        self._write(f"+{group}\n")

    def ended(self, group: int) -> None:
        """It has ended, and its number may be another's by now."""
        self._write(f"-{group}\n")

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(line)

    def close(self) -> None:
        """Ends all that is left."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait()


def _processes_with(mark: str) -> list[int]:
    """The processes in whose environment the mark is, this one excepted; where there is no /proc, none."""
    needle, found = f"{MARK}={mark}".encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if needle in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


def main(mark: str) -> None:
    """Reads groups until the pipe closes, and ends what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    for group in groups:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    end = time.monotonic() + ENDS_WITHIN
    clean = 0
    while clean < LOOKS and time.monotonic() < end:  # what is just being started is seen the next time
        left = _processes_with(mark)
        clean = 0 if left else clean + 1
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none of them starts others while they are ended
            for process in left:
                with suppress(OSError):
                    os.kill(process, number)


if __name__ == "__main__":
    main(sys.argv[1])
