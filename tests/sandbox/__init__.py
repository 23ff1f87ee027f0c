"""`forewarn sandbox`, as far as it can be told without making one; the rest is in tests/system."""
