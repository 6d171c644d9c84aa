"""Induction over any run, for any number of processes."""
