"""What a job says: read from the API, a file or a form, checked, given defaults."""
