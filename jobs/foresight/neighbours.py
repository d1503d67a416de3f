"""How many other jobs are due in the same minute, whosever they are: a number, no names.

Only `Due` is asked, a stretch of its one index for each minute: what it knows of a job is its
next moment alone. A job that is due often is therefore counted in its next minute and in no later
one, and every number means «at least».
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

MOST = 1000  # counted; beyond it the number says nothing more

# The row of a paused job stands at the end of its pause, which is no moment. In the order of the
# index the scan ends at its limit; without it all that are due at midnight would be read first.
_COUNT = """
select (select count(*)
          from (select job_id from jobs_due
                 where at >= minute and at < minute + interval '1 minute'
                   and job_id is distinct from %(but)s::uuid
                 order by at limit %(most)s) as near
         where not exists (select from jobs_job where id = near.job_id and paused))
  from unnest(%(minutes)s::timestamptz[]) with ordinality as asked (minute, place)
 order by place
"""


def due_with(moments: Sequence[datetime], but: UUID | None = None) -> list[int]:
    """For each moment the other jobs (`but`: not this one) due in its minute, MOST at most."""
    minutes = [moment.replace(second=0, microsecond=0) for moment in moments]
    asked = list(dict.fromkeys(minutes))
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"minutes": asked, "but": but, "most": MOST})
        counts = dict(zip(asked, (count for (count,) in cursor.fetchall()), strict=True))
    return [counts[minute] for minute in minutes]
