"""The same questions at data scale, on Spark: exploration, event logs, cost experiments."""
