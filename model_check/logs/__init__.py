"""Event logs of any size: rows in columns, and the monitor that decides every order of a run from them."""
