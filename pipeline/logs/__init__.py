"""Event logs of any size, on Spark."""
