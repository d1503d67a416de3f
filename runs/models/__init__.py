from __future__ import annotations

from runs.models.attempt import Attempt
from runs.models.audit_report import AuditReport
from runs.models.backfill import Backfill
from runs.models.badge import Badge
from runs.models.beat import Beat
from runs.models.channel import Channel
from runs.models.decision import Decision
from runs.models.idempotency_key import IdempotencyKey
from runs.models.installation import Installation
from runs.models.marker import Marker
from runs.models.message import Delivery, Message
from runs.models.poll_count import PollCount
from runs.models.receipt_key import ReceiptKey
from runs.models.replay import Replay, ReplayItem
from runs.models.review import Approval, ProbeAnswer, ReviewClaim
from runs.models.run import Run
from runs.models.saved_view import HomeView, SavedView
from runs.models.star import Star
from runs.models.tombstone import Tombstone
from runs.models.trial import Trial
from runs.models.tried import Tried
from runs.models.zone_data import ZoneData

__all__ = [
    "Approval",
    "Attempt",
    "AuditReport",
    "Backfill",
    "Badge",
    "Beat",
    "Channel",
    "Decision",
    "Delivery",
    "HomeView",
    "IdempotencyKey",
    "Installation",
    "Marker",
    "Message",
    "PollCount",
    "ProbeAnswer",
    "ReceiptKey",
    "Replay",
    "ReplayItem",
    "ReviewClaim",
    "Run",
    "SavedView",
    "Star",
    "Tombstone",
    "Trial",
    "Tried",
    "ZoneData",
]
