"""The ledger: every claim of the five papers, with the verdict of its recomputed evidence."""
