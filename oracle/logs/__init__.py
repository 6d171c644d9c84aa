"""Event logs: formats, one line read as an event, rows as numbers in columns, holes and uncertainty."""
