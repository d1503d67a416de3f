"""What the dashboard shows of jobs and runs together: one module for each thing on a page."""
