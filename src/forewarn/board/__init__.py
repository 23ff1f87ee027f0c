"""What guests will be told: ready pages, who is calling, and who waits for a change."""
