"""The lists of jobs and of runs, as pages, over the API and as files."""
