"""Filters saved under a name, for oneself or for a team."""
