"""The run explorer: a page on which runs of a protocol are made, step by step, and seen."""
