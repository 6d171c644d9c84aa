# A stand-in: the adapter loads it, and nothing is in it.
