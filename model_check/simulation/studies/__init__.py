"""Studies of costs: sweeps of simulations, rows, figures and findings. Nothing here needs Spark."""
