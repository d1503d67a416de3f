"""PGMQ's SQL in the product's own database: no extension, nothing to install on the server."""

from __future__ import annotations

import psycopg
from pgmq.install import get_embedded_install_sql

LOCK = 7_235_181  # any number: two starts at once must not both install


def install(url: str) -> None:
    """Install PGMQ's schema unless it is there. `url` is a DATABASE_URL.

    Its script cannot run twice, so that a new release of it needs a migration of its own.
    """
    with psycopg.connect(url, options="") as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", [LOCK])
        if connection.execute("select to_regclass('pgmq.meta')").fetchone() == (None,):
            connection.execute(get_embedded_install_sql().encode())
