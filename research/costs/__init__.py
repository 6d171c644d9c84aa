"""Simulation: the machines of the protocols under a discrete-event clock."""
