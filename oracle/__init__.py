"""Oracles: which order somebody else's logs and implementations keep."""
