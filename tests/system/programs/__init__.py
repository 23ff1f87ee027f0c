"""Programs that tests run in a sandbox, with libraries of their own."""
