"""What acts on machines."""
