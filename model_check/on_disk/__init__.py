"""The native engine's search with its levels in files, for searches larger than memory."""
