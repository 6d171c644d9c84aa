"""What protocols cost: sweeps of simulations, and the page that tells what they show."""
