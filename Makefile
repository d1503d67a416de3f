# One command each, from a fresh clone; see README, «Commands».
PYTHON ?= python3
PORT ?= 8000
HOST ?= 127.0.0.1
DATA ?= .onebeat
ARGS ?=
PY = .venv/bin/python
PIP = $(PY) -m pip -qq --disable-pip-version-check --no-input
# Zone data comes from the pinned package alone, never from the host.
export PYTHONTZPATH =

.PHONY: install up test check chaos bench lock browser

# The stamp is a copy of the lock, written last: an interrupted install is done again, and an
# unchanged lock asks no network, whatever the times of the files say.
install:
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing: install python3 3.11 or newer, or say PYTHON=<path>." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "$(PYTHON) is too old: Python 3.11 or newer is needed; say PYTHON=<path>." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null \
	  || { echo "Python's venv module is missing: install it (on Debian: apt-get install python3-venv)." >&2; exit 1; }
	@if ! { cmp -s requirements.lock .venv/requirements.lock && $(PY) -c ''; } 2>/dev/null; then \
	  echo "Installing the locked packages into .venv"; \
	  { $(PY) -c '' 2>/dev/null || $(PYTHON) -m venv --clear .venv; } \
	  && $(PIP) install --require-hashes -r requirements.lock \
	  && cp requirements.lock .venv/requirements.lock \
	  || { echo "The packages could not be installed: see above; a package index must be reachable." >&2; exit 1; }; \
	fi

# `exec`: the recipe's shell is replaced by the product, so that a signal to it arrives.
up: install
	@exec $(PY) manage.py up --host='$(HOST)' --port='$(PORT)' --data='$(DATA)'

test: install browser
	@$(PY) -m pytest -n 2 --no-loadscope-reorder $(ARGS)

check: install
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy .
	@$(PY) -c 'from importlinter.cli import lint_imports_command as check; check()'
	@PYTHONWARNINGS=ignore::RuntimeWarning $(PY) manage.py makemigrations --check --dry-run
	@SECRET_KEY=$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(64))') \
	  ONEBEAT_SEALING_KEYS=$$($(PY) -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())') \
	  ONEBEAT_SECURE=1 ALLOWED_HOSTS=onebeat.example \
	  $(PY) manage.py check --deploy --fail-level WARNING

# Random faults: see tests/chaos/README.md. The plan is the seed's; without one it is drawn.
SEED ?=
MINUTES ?= 5
BROKER ?= rabbitmq
chaos: install
	@.ci/packages faketime $(filter-out pgmq,$(BROKER)) || true # what is missing is said next
	@$(PY) -m tests.chaos --seed '$(SEED)' --minutes '$(MINUTES)' --broker '$(BROKER)' $(ARGS)

bench: install
	@$(PY) -m tests.bench $(ARGS)

# The browser's tests are skipped without one, with the reason; this only tries.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && { apt-get update && timeout 300 apt-get install -y --no-install-recommends chromium; } >/dev/null 2>&1; } \
	  || echo "Notice: no chromium here, so the browser's tests are skipped."

# After a change of the dependencies in pyproject.toml: for every platform and every Python from
# 3.11 on. What is locked stays as it is; ARGS=--upgrade renews it.
lock: install
	@$(PYTHON) -m venv .venv/lock && .venv/lock/bin/python -m pip -qq install uv
	@.venv/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --generate-hashes \
	  --no-header --output-file requirements.lock $(ARGS) pyproject.toml
