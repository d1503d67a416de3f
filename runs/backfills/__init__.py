"""Backfills: the moments of a range that have no run are run afterwards, a few at a time."""
