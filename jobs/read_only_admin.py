"""The admin of what nobody edits by hand: history, and rows that only their rules may write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import JSONField, QuerySet, TextField
from django.http import HttpRequest
from django.utils.functional import cached_property

from jobs.recorded_admin import RecordedAdmin

_MOST_PAGED = 10_000
_WIDE = (JSONField, TextField)


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts 10,000 rows at most: counting a history would read all of it."""

    @cached_property
    def count(self) -> int:
        """How many rows can be paged to."""
        return cast(QuerySet[Any], self.object_list)[:_MOST_PAGED].count()


class Autocomplete(AutocompleteSelect):
    """Shows nothing chosen where what was sent is no id at all; the form says what is wrong."""

    def optgroups(self, name: str, value: Sequence[str], attrs: Any = None) -> Any:
        """The chosen rows, as options."""
        try:
            return super().optgroups(name, value, attrs)
        except (ValidationError, ValueError):
            return super().optgroups(name, [], attrs)


class PlainAdmin(RecordedAdmin):
    """What every list here has in common."""

    show_full_result_count = False
    list_per_page = 50

    def formfield_for_foreignkey(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        """With our autocomplete in the place of Django's."""
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs.setdefault("widget", Autocomplete(db_field, self.admin_site))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class ReadOnlyAdmin(PlainAdmin):
    """Lists and shows, to staff with the right to view; never adds, changes or deletes."""

    paginator = BoundedPaginator

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Without the wide columns, which no list shows; a row's own page reads them then."""
        shown = {name for name in self.list_display if isinstance(name, str)}
        fields = self.model._meta.concrete_fields
        wide = [f.name for f in fields if isinstance(f, _WIDE) and f.name not in shown]
        queryset: QuerySet[Any] = super().get_queryset(request).defer(*wide)
        return queryset

    def has_add_permission(self, request: HttpRequest) -> bool:
        """No."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False
