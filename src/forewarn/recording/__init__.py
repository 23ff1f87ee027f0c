"""What an endpoint said, written down change by change, and said again."""
