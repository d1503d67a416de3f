"""kombu's PGMQ transport, whose connections answer before their commit is on disk.

The broker may lose messages without harm, since rescue sends them again; waiting for the disk at
each receipt and each acknowledgement costs two thirds of the throughput. The client would drop
such an option from its connection string, and PGOPTIONS would reach every other connection of the
process, so that the pool is made here.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, pgmq
from pgmq import PGMQueue
from psycopg import Connection
from psycopg_pool import ConnectionPool

LOCK = 7_235_182  # any number that no other advisory lock has


class Queues(PGMQueue):  # type: ignore[no-untyped-call]
    """PGMQ's client. A queue's trigger is dropped and made anew by whoever comes to it, and two at
    once would both make it, so that one of them failed and came back later: they take turns."""

    def enable_notify(
        self, queue: str, throttle_interval_ms: int = 250, conn: Connection[Any] | None = None
    ) -> None:
        """Let the queue tell its listeners of new messages."""
        assert self.pool is not None  # Transport makes it
        with nullcontext(conn) if conn else self.pool.connection() as line:
            line.execute("select pg_advisory_xact_lock(%s)", [LOCK])
            super().enable_notify(queue, throttle_interval_ms, conn=line)


class Transport(pgmq.Transport):
    """`pgmq://` once `register` was called."""

    def _create_pgmq_client(self) -> PGMQueue:
        assert self.client is not None
        options: dict[str, Any] = self.client.transport_options or {}
        pool = ConnectionPool(
            options["conn_string"],
            kwargs={"options": "-c synchronous_commit=off", "connect_timeout": 4},
            min_size=1,
            max_size=options["pool_size"],
            timeout=options["pool_timeout"],
            open=True,
        )
        return Queues(
            conn_string=options["conn_string"],
            pool=pool,
            vt=options["visibility_timeout"],
            init_extension=False,
        )

    def close_connection(self, connection: Any) -> None:
        """Also the pool, which the client takes for somebody else's."""
        pool = self._pgmq_client and self._pgmq_client.pool
        super().close_connection(connection)
        if pool is not None:
            pool.close()


def register() -> None:
    """Let the scheme `pgmq` mean this transport, in this process."""
    TRANSPORT_ALIASES["pgmq"] = f"{__name__}:Transport"
