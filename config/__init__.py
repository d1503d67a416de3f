"""The composition root: settings, the Celery application, URLs and what `manage.py up` starts."""
