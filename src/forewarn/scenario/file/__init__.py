"""Scenario files: their keys, how they are read and checked, and the library of scenarios."""
