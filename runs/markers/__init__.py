"""Markers: what changed and when (a deploy, a migration, an incident), and where the pages show
it, so that a person at night sees that failures began with it."""
