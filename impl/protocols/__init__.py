"""The protocols, each as described in its paper."""
