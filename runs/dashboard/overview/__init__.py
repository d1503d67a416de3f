"""The Overview: what is wrong, what needs somebody, how much was due and what has become of it."""
