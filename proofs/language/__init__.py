"""Machine code as z3 terms."""
