"""Audits: what was due against what was done, worked out, kept and shown."""
