"""Which orders an event log keeps, by compiled monitors."""
