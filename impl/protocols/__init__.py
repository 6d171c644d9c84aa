"""The protocols, each as its text has it."""
