"""The periodic tasks of django-celery-beat, each mirrored as a job."""
