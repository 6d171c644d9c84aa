"""The map of a design space: every combination of a protocol's choices decided, proved, compared and priced."""
