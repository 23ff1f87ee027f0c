"""The kinds of handlers: what acts on the machine, or on something beside it."""
