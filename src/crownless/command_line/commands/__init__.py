"""The commands of the command line, each with its options and its output."""
