"""Scenarios: a fleet, what is done to it and when, and what to expect, in one file.

`file/` reads and checks it, `play/` plays it, `library/` holds the scenarios that come with forewarn.
"""
