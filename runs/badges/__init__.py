"""Badges: how a job, a tag or a team stands, as a small picture for a page of another system."""
