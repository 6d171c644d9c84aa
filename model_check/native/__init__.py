"""The native engine: exhaustive search over packed rows of numbers, of protocols that stay plain Python."""
