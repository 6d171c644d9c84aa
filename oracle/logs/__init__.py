"""Event logs in columns: formats, rows as numbers, and the compiled monitor that decides all orders of a run."""
