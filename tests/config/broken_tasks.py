"""A module of tasks that cannot be imported: its author made a mistake."""

raise ValueError("a mistake\nof two lines")
