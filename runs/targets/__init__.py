"""Calling a target, in two steps with the intent written between them: prepare, then perform."""
