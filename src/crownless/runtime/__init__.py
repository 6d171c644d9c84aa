"""Ending early, limits and memory, for every package."""
