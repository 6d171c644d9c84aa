"""The transition system of a protocol over a channel, with its monitors."""
