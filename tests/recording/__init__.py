"""`forewarn record` and `forewarn replay`."""
