"""Space-time diagrams: their layout, and their output as text, SVG and HTML."""
