"""Push: webhooks that are told of events as they change. What is to be told is committed with the change itself."""
