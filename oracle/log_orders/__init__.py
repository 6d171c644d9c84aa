"""Decisions on the orders that an event log keeps, by compiled monitors."""
