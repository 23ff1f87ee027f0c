"""Scenarios: a fleet, what happens to it and when, and what is expected to come of it, in one file."""
