"""Oracles: the orders that external logs and implementations keep."""
