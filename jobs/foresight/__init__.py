"""What would come of a job, or of a change to it, told before it is done."""
