"""What must hold: computations, orders, invariants, notation. Imports nothing else of crownless."""
