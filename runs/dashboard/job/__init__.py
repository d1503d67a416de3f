"""What one job has been doing, what is to come of it, and why it has not run."""
