"""The commands of research, each with its options and its output."""
