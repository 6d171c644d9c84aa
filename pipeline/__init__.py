"""Exploration, event logs and cost experiments at data scale, on Spark."""
