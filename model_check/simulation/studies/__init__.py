"""Sweeps of simulations: what is simulated, rows, figures and what they answer. Nothing here needs Spark."""
