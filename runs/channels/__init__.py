"""Who is told of what: the channels, the outbox, and the way from the one to the other."""
