"""Automatic discovery of invariants, for every n."""
