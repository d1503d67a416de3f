from __future__ import annotations

from django.contrib.auth.models import AbstractUser


class User(AbstractUser):
    """A person. What they may do comes from their memberships alone; `is_staff` opens the
    Django admin to the platform's own people and no team's pages."""
