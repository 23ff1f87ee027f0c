"""Push: webhooks that are told of events as they change. What is told is committed with the change."""
