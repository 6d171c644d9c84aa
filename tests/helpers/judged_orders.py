"""What is judged of nodes in these tests, and the nodes of the examples that are judged."""

from __future__ import annotations

from pathlib import Path

from crownless.oracle.conformance.conformance_request import Request

#: The orders that are judged of unicasts.
JUDGED = Request().judged

CAUSAL = str(Path(__file__).parents[2] / "examples" / "nodes" / "python" / "causal.py")
