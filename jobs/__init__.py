"""What should happen and when. Knows nothing of runs."""
