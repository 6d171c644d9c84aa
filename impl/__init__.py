"""Protocols: one protocol, one file, one text. Imports only spec and runtime."""
