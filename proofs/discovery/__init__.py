"""Invariants found by machine, for every n; and by z3's Spacer, for few processes."""
