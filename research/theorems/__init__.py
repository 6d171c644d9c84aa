"""Theorems of the papers about computations of any size, put to z3."""
