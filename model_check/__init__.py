"""Finds out whether it holds: systems, explorer, oracle, drawings."""
