"""Variants of the protocols that claims of the papers are about."""
