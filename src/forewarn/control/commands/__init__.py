"""What may be asked of the plane. Each command is one commit: all of it, or a refusal and nothing."""
