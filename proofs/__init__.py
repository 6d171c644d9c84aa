"""Proofs beyond any bound: z3 runs the protocols' own code, for every number of processes."""
