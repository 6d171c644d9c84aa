"""A check, from request to result."""
