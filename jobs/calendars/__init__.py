"""Calendars: days off, where they come from, what they do to moments, and who may change them."""
