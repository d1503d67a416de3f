"""Many jobs paused, resumed or tagged at once."""
