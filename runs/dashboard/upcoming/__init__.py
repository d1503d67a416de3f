"""What is due in the time to come: as a list, as a map of the week, as what a hold delays."""
