from __future__ import annotations

from uuid import UUID, uuid4

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.channel import Channel


class Delivery(models.Model):
    """One sending to a channel: a message, or many combined. Its id is what a receiver knows it
    by, however often it comes. `next_at`: when it is to be tried next; None once it is over."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    channel = models.ForeignKey(Channel, on_delete=models.CASCADE)
    is_test = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    tries = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    given_up_at = models.DateTimeField(null=True, blank=True)
    answer = models.TextField(blank=True, default="")

    channel_id: UUID

    class Meta:
        ordering = ("-created_at",)
        verbose_name_plural = "deliveries"
        indexes = (
            models.Index(
                fields=("next_at",), condition=Q(next_at__isnull=False), name="deliveries_to_send"
            ),
            models.Index(fields=("channel", "-created_at"), name="deliveries_of_a_channel"),
        )
        constraints = (
            models.CheckConstraint(
                condition=Q(next_at=None) | Q(sent_at=None, given_up_at=None),
                name="what_is_over_is_not_tried",
            ),
        )

    def __str__(self) -> str:
        return str(self.id)


class Message(models.Model):
    """The outbox: one thing to tell one channel, written in the transaction that made it so.

    `event` names what happened (kind, run and token): unique for a channel, so that nothing is
    told twice. `delivery` is set when it is packed.
    """

    id = models.BigAutoField(primary_key=True)
    # No constraint in the database: a channel that is being deleted must not fail a claim.
    channel = models.ForeignKey(
        Channel, on_delete=models.CASCADE, db_index=False, db_constraint=False
    )
    event = models.CharField(max_length=200)
    kind = models.CharField(max_length=11)
    job_id = models.UUIDField(null=True, blank=True)
    run_id = models.UUIDField(null=True, blank=True)
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True, default="")
    at = models.DateTimeField(db_default=Now())
    delivery = models.ForeignKey(
        Delivery, null=True, blank=True, on_delete=models.CASCADE, related_name="messages"
    )

    channel_id: UUID
    delivery_id: UUID | None

    class Meta:
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(fields=("channel", "event"), name="nothing_is_told_twice"),
        )
        indexes = (
            models.Index(
                fields=("channel", "id"),
                condition=Q(delivery__isnull=True),
                name="messages_to_pack",
            ),
        )

    def __str__(self) -> str:
        return self.event
