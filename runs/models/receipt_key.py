from __future__ import annotations

from django.db import models


class ReceiptKey(models.Model):
    """An Ed25519 key that signs receipts: the newest that can be opened. An older one stays, so
    that what it has signed can still be verified. `private` is sealed."""

    id = models.BigAutoField(primary_key=True)
    public = models.CharField(max_length=64, unique=True)  # the raw 32 bytes in base64
    private = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.public
