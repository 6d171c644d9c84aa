"""Executable specifications of message order in distributed systems, and tools that hold protocols to them."""
