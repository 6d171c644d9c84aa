"""Theorems of the texts about computations of any size, put to z3."""
