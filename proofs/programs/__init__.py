"""Proofs about one program at a time: all its interleavings as one formula, and its verdicts."""
