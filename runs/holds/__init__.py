"""What a hold does to runs: they wait under it, and are let go when it is over.

Who may hold what, and since when, is in jobs/holds.py.
"""
