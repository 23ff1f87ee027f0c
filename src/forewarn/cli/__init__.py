"""The command `forewarn`."""
