"""The search of the native engine, on Spark."""
