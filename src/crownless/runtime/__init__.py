"""What every package may use while it runs: ending early, limits, memory."""
