"""Protocols as state machines, one file a text; channels and workloads. Imports only spec."""
