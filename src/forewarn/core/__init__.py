"""What maintenance is, as values and pure functions.

No clock, no input or output, no randomness: `now` and new ids are always arguments.
"""
