"""Model checking within a bound: systems, explorers, monitors, event logs, simulation."""
