"""The run explorer: an interactive page for stepping through runs of a protocol."""
