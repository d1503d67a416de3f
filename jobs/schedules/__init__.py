"""When a job is due: schedules, zones, clocks, and the moments that they make."""
