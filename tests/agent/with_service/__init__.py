"""Tests of the agent that need the service or its Python. The others also run on the Pythons of guests."""
