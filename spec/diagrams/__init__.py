"""Space-time diagrams, each with a layout of its own and the forms in which it is drawn."""
