"""The web's entry point: `gunicorn config.wsgi`."""

from __future__ import annotations

import gc
import os
from importlib import import_module

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()
import_module("config.urls")  # or the first request would wait for it
# What is loaded by now stays. Each full collection would look through all of it again, and hold
# up every request of the process for more than a tenth of a second.
gc.collect()
gc.freeze()
