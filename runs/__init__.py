"""What happened, and what happens next. May import jobs."""
