"""The ledger: every claim of the five texts, with the verdict of its recomputed evidence."""
