"""Searches of the transition system, in plain Python."""
