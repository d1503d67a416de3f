from __future__ import annotations

from django.db import models

from jobs.models import User


class PollCount(models.Model):
    """How often a person's pages have asked for news in the minute that began at `since`.

    The table is not logged: a poll costs no write-ahead log and waits for no disk, and what a
    crash forgets is a minute's count.
    """

    user = models.OneToOneField(User, primary_key=True, on_delete=models.CASCADE)
    since = models.DateTimeField()
    polls = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.polls} polls of {self.user_id} since {self.since}"
