"""The page on which a person says how they want the pages."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jobs import events, reader
from jobs.models import Preference, User
from jobs.page_door import back_of, page, person
from jobs.schedules import zones
from jobs.schedules.schedules import ScheduleError


class SettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    """A person's preferences; the zone empty for the browser's."""

    use_required_attribute = False

    class Meta:
        model = Preference
        fields = ("timezone", "theme", "density", "keys")
        labels: ClassVar = {"timezone": "Time zone", "density": "Room of a row"}
        help_texts: ClassVar = {
            "timezone": "A place, as America/New_York, or UTC. Empty: the zone of this browser.",
            "keys": "They act outside of text fields alone.",
        }
        widgets: ClassVar = {
            "timezone": forms.TextInput(
                attrs={"class": "input", "list": "zones", "autocomplete": "off"}
            ),
            "theme": forms.RadioSelect,
            "density": forms.RadioSelect,
        }

    def clean_timezone(self) -> str:
        name: str = self.cleaned_data["timezone"]
        try:
            return zones.check(name) if name else ""
        except ScheduleError as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from None


@transaction.atomic
def _save(form: SettingsForm, before: dict[str, Any], by: User) -> None:
    after = model_to_dict(form.save(), SettingsForm.Meta.fields)
    changes = events.differences(before, after)
    events.record("person.settings", events.of_person(by), by=by, changes=changes)


@page
@require_http_methods(["GET", "POST"])
def your_settings(request: HttpRequest) -> HttpResponse:
    """Zone, theme, density and keys of the person who has signed in."""
    back = back_of(request) or "/"
    kept = reader.preference(request)
    before = model_to_dict(kept, SettingsForm.Meta.fields)
    form = SettingsForm(request.POST or None, instance=kept, label_suffix="")
    if request.method == "POST" and form.is_valid():
        _save(form, before, person(request))
        messages.success(request, f"Saved. Times are shown in {reader.zone_of(request)}.")
        return redirect(back)
    context = {
        "form": form,
        "next": back,
        "zones": sorted(zones.names()),
        "kept_days": settings.KEEP_RUNS_DAYS,
    }
    return render(request, "jobs/settings.html", context, status=422 if form.errors else 200)
