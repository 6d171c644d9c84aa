"""Specifications: computations, orders, invariants, notation. Imports nothing else of crownless."""
