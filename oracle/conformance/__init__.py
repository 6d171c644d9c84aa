"""Conformance: foreign implementations as protocol machines, driven over every schedule within a bound."""
