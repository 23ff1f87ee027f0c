"""The operators' listener: REST, the stream, health and metrics."""
