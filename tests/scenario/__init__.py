"""Scenarios: files that are checked, played and held against what they expect."""
