"""The page on which a person chooses the zone in which they read times."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods

from jobs import reader, zones
from jobs.page_door import page
from jobs.schedules import ScheduleError


class ZoneForm(forms.Form):
    """The zone in which this person reads times; empty for the browser's."""

    timezone = forms.CharField(
        label="Time zone",
        help_text="A place, as America/New_York, or UTC. Empty: the zone of this browser.",
        required=False,
        widget=forms.TextInput(attrs={"class": "input", "list": "zones", "autocomplete": "off"}),
    )
    use_required_attribute = False

    def clean_timezone(self) -> str:
        name: str = self.cleaned_data["timezone"]
        try:
            return zones.check(name) if name else ""
        except ScheduleError as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from None


@page
@require_http_methods(["GET", "POST"])
def reader_zone(request: HttpRequest) -> HttpResponse:
    """Choose the zone in which times are shown beside a job's own and UTC."""
    back = request.POST.get("next") or request.GET.get("next", "")
    if not url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure()):
        back = "/"
    form = ZoneForm(request.POST or None, initial={"timezone": reader.chosen_zone(request)})
    if request.method == "POST" and form.is_valid():
        reader.choose_zone(request, form.cleaned_data["timezone"])
        messages.success(request, f"Times are shown in {reader.zone_of(request)}.")
        return redirect(back)
    context = {"form": form, "next": back, "zones": sorted(zones.names())}
    status = 422 if form.errors else 200
    return render(request, "jobs/reader_zone.html", context, status=status)
