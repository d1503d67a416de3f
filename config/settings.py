"""The one settings file. Everything comes from the environment; nonsense is refused at start.

| variable | meaning | default |
|---|---|---|
| DATABASE_URL | PostgreSQL 15 or newer | the server that comes along, in ONEBEAT_DATA |
| BROKER_URL | amqp://, redis:// or pgmq:// | PGMQ inside DATABASE_URL |
| SECRET_KEY, ONEBEAT_SEALING_KEYS | signing; Fernet keys, the first one seals | none |
| ONEBEAT_EGRESS_ALLOW | inside networks that targets may reach, `network[:port],…` | none |
| ONEBEAT_BEAT_TASKS | patterns of Celery tasks that PeriodicTask rows may run | none |
| ONEBEAT_QUEUES | the queues that jobs may name | default |
| ONEBEAT_TASK_MODULES | modules whose functions are registered for jobs | none |
| ONEBEAT_METRICS_OPEN | whether /metrics needs no token | false |
| ONEBEAT_LEASE | seconds without a heartbeat until a worker counts as lost | 30 |
| ONEBEAT_STOP_GRACE | seconds that a task has when it is asked to stop | 10 |
| ONEBEAT_SETTLING | seconds after the last moment of an effect until a probe is believed | 60 |
| ONEBEAT_SOFT_SHUTDOWN | seconds that runs have to end when their worker is told to | 20 |
| ONEBEAT_RESTORED_AFTER | seconds without a beat that speak for a restored copy | 3 days |
| ONEBEAT_URL | the address of this site, for links in messages | none |
| ONEBEAT_TRACE_URL | where the trace of a run is looked at, with {trace} for its id | none |
| EMAIL_URL | smtp+tls://user:password@host:587, smtps://, smtp:// or console: | no mail |
| ONEBEAT_MAIL_FROM | whom mail comes from | onebeat@localhost |
| ONEBEAT_WATCHDOG_URL, _EVERY | what is called while all is well; each so many seconds | none, 60 |
| ONEBEAT_POLLS | how often a minute one person's pages may ask for news | 600 |
| ONEBEAT_SWEEP, ONEBEAT_RESEND | seconds: the rescue's interval, the first resend | 2, 15 |
| ONEBEAT_FAULTS | points at which tests strike the process (runs/faults.py) | none |
"""

from __future__ import annotations

import logging
import os
import zoneinfo
from pathlib import Path

from environs import Env, validate

from config import brokers, databases, environment, logs, mail

# Zone data is the pinned `tzdata` package alone: the hosts' copies are older and differ.
os.environ["PYTHONTZPATH"] = ""  # for the processes that this one starts
zoneinfo.reset_tzpath(to=())

env = Env()
BASE_DIR = Path(__file__).resolve().parent.parent

# ── the installation ─────────────────────────────────────────────────────────────────────
DEBUG = env.bool("ONEBEAT_DEBUG", False)
DATA = Path(env.str("ONEBEAT_DATA", "") or BASE_DIR / ".onebeat").absolute()
DEFAULT_SECRET_KEY = "insecure-and-only-for-commands-that-serve-nobody"  # noqa: S105
SECRET_KEY = env.str("SECRET_KEY", DEFAULT_SECRET_KEY)
SEALING_KEYS = environment.sealing_keys(env.list("ONEBEAT_SEALING_KEYS", []))
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS: list[str] = env.list("CSRF_TRUSTED_ORIGINS", [])
SECURE = env.bool("ONEBEAT_SECURE", False)  # behind TLS: secure cookies, HSTS, redirect

# ── what the product keeps to (seconds) ──────────────────────────────────────────────────
LEASE = env.float("ONEBEAT_LEASE", 30.0, validate=validate.Range(1, 600))
SWEEP = env.float("ONEBEAT_SWEEP", 2.0, validate=validate.Range(0.05, 60))
RESEND = env.float("ONEBEAT_RESEND", 15.0, validate=validate.Range(0.1, 3600))
RESTORED_AFTER = env.float("ONEBEAT_RESTORED_AFTER", 3 * 86_400.0)
FAULTS: list[str] = env.list("ONEBEAT_FAULTS", [])
STOP_GRACE = env.float("ONEBEAT_STOP_GRACE", 10.0, validate=validate.Range(0, 600))
SETTLING = env.float("ONEBEAT_SETTLING", 60.0)
SOFT_SHUTDOWN = env.float("ONEBEAT_SOFT_SHUTDOWN", 20.0, validate=validate.Range(0, 3600))
EGRESS_ALLOW = environment.egress(env.str("ONEBEAT_EGRESS_ALLOW", ""))
BEAT_TASKS: list[str] = env.list("ONEBEAT_BEAT_TASKS", [])
TASK_MODULES: list[str] = env.list("ONEBEAT_TASK_MODULES", [])
QUEUES = environment.queues(env.list("ONEBEAT_QUEUES", ["default"]))
METRICS_OPEN = env.bool("ONEBEAT_METRICS_OPEN", False)  # without a token
KEEP_RUNS_DAYS = env.int("ONEBEAT_KEEP_RUNS_DAYS", 90)
URL = mail.address(env.str("ONEBEAT_URL", ""))
TRACE_URL = environment.trace_url(env.str("ONEBEAT_TRACE_URL", ""))
WATCHDOG_URL = mail.watchdog(env.str("ONEBEAT_WATCHDOG_URL", ""))
WATCHDOG_EVERY = env.int("ONEBEAT_WATCHDOG_EVERY", 60, validate=validate.Range(min=1, max=3600))
POLLS = env.int("ONEBEAT_POLLS", 600, validate=validate.Range(min=60))  # a minute, by one person
REQUEST_BODY_LIMIT = 256 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = REQUEST_BODY_LIMIT

# ── Django ───────────────────────────────────────────────────────────────────────────────
INSTALLED_APPS = [
    "config",
    "runs",
    "jobs",
    "rest_framework",
    "django_celery_beat",
    "django_htmx",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "jobs.request_ids.RequestIds",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",  # outside of whatever asks the database
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "jobs.page_sessions.PolledSessions",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "jobs.page_sessions.SessionEnd",
    "jobs.not_allowed.NotAllowedPages",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "jobs.reader.for_pages",
            ]
        },
    }
]
AUTH_USER_MODEL = "jobs.User"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "start"
LOGOUT_REDIRECT_URL = "sign-in"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

DATABASE_URL = env.str("DATABASE_URL", "") or databases.embedded_url(DATA)
DATABASES = {"default": databases.config(DATABASE_URL, env)}

# ── security ─────────────────────────────────────────────────────────────────────────────
SESSION_COOKIE_AGE = 8 * 3600
SESSION_SAVE_EVERY_REQUEST = True  # idle time-out, not a fixed end
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = SECURE
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # probes come without TLS
SECURE_HSTS_SECONDS = 365 * 86400 if SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = SECURE
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# ── mail ─────────────────────────────────────────────────────────────────────────────────
EMAIL_URL = env.str("EMAIL_URL", "")
globals().update(mail.backend(EMAIL_URL))
EMAIL_TIMEOUT = 10  # seconds
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.str("ONEBEAT_MAIL_FROM", "onebeat@localhost")

# ── static files ─────────────────────────────────────────────────────────────────────────
STATIC_URL = "static/"
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # nothing to collect before the first start

# ── REST ─────────────────────────────────────────────────────────────────────────────────
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["jobs.tokens.tokens.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["jobs.problems.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "jobs.problems.as_problem",
    "UNAUTHENTICATED_USER": None,
}

# ── Celery (the settings themselves: config/celery.py) ───────────────────────────────────
BROKER_URL = brokers.known(env.str("BROKER_URL", "") or brokers.pgmq_url(DATABASE_URL))
DJANGO_CELERY_BEAT_TZ_AWARE = True
CELERY_BEAT_SCHEDULER = "runs.beat:Scheduler"

LOGGING = logs.config(env.log_level("ONEBEAT_LOG_LEVEL", logging.INFO))
