"""How long a test waits for what should come soon."""

from __future__ import annotations

#: Seconds; they only bound how long a failing test takes.
LONG = 120
