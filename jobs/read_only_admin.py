"""The admin of what nobody edits by hand: history, and rows that only their rules may write."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

_MOST_PAGED = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts 10,000 rows at most: counting a history would read all of it."""

    @cached_property
    def count(self) -> int:
        """How many rows can be paged to."""
        return cast(QuerySet[Any], self.object_list)[:_MOST_PAGED].count()


class PlainAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What every list here has in common."""

    show_full_result_count = False
    list_per_page = 50


class ReadOnlyAdmin(PlainAdmin):
    """Lists and shows, to staff with the right to view; never adds, changes or deletes."""

    paginator = BoundedPaginator

    def has_add_permission(self, request: HttpRequest) -> bool:
        """No."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False
