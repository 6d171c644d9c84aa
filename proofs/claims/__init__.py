"""The ledger: every claim of the five texts, with the verdict that its evidence gives when it is recomputed."""
