"""What should happen and when. Knows nothing of runs.

A room for each thing that takes several modules:

| room | what is in it |
|---|---|
| models/ | the rows |
| cron/ | what a cron pattern says, and when that comes |
| calendars/ | days off, and what they do to moments |
| targets/ | what a job may call |
| periodic_tasks/ | the rows of django-celery-beat that jobs mirror |
"""
