"""Nodes that own their sockets: a proxy for each, and the end of an answer as the operating system shows it."""
