"""The ARM surface: Azure's own SDK and command line drive forewarn."""
