"""Test requests: a person tries out the target of a job, saved or still being typed."""
