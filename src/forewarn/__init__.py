"""Maintenance of virtual machines, announced before it happens."""

__version__ = "0.1.0"
