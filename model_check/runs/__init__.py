"""Runs as they are shown, drawn and saved."""
