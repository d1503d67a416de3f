"""How often a person's pages may ask for news: ONEBEAT_POLLS times a minute, over all of them.

Counted in the database, so that the limit holds however many web processes there are. Django's
cache and the throttles of DRF that stand on it would take four statements to it, one of them a
count of the whole cache; this is one, on a table that is not logged.
"""

from __future__ import annotations

import math

from django.conf import settings
from django.db import connection

_COUNT = """
insert into runs_pollcount as here (user_id, since, polls)
values (%s, statement_timestamp(), 1)
    on conflict (user_id) do update
   set polls = case when here.since > excluded.since - interval '1 minute'
                    then least(here.polls + 1, 1000000) else 1 end,
       since = case when here.since > excluded.since - interval '1 minute'
                    then here.since else excluded.since end
returning polls, extract(epoch from since + interval '1 minute' - statement_timestamp())::float8
"""


def wait(user_id: int) -> int:
    """Counts one poll of this person: 0, or in how many seconds they may poll again."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, [user_id])
        polls, left = cursor.fetchone()
    return max(1, math.ceil(left)) if polls > settings.POLLS else 0
