"""Runs, as shown, drawn and saved."""
