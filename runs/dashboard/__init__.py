"""What the dashboard shows of jobs and runs together: a package for each thing on its pages, and
the pictures and sentences that several share."""
