"""The native engine: exhaustive search over rows of numbers, of protocols that stay plain Python."""
