"""The costs of protocols: sweeps of simulations, and the page that shows their results."""
