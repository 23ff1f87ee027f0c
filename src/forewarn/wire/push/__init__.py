"""What webhooks are told, in two forms, and how it is signed."""
