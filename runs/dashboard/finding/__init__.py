"""What a list is asked for, the same at every door, and how its rows are found page by page."""
