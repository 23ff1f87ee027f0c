"""Where it is kept: one contract, SQLite and PostgreSQL."""
