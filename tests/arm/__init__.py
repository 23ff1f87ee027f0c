"""The ARM surface, as Azure's own clients and as plain requests use it."""
