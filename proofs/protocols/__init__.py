"""The proofs of each protocol."""
