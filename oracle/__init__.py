"""Oracles: the orders that the logs and implementations of others keep."""
