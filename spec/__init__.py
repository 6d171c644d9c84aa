"""Specifications: computations, orders, invariants, notation. Imports only runtime."""
