"""The pages of calendars, which everybody who has signed in may read."""

from __future__ import annotations

from calendar import Calendar as Months
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs import clock
from jobs.calendars import editing, effects, public_holidays
from jobs.calendars import kept as kept_calendars
from jobs.calendars.api import calendars
from jobs.calendars.days import Calendar
from jobs.calendars.editing import Editor
from jobs.calendars.forms import CalendarForm, typed_of
from jobs.definitions.definitions import DefinitionError
from jobs.models import CalendarVersion, Job, Team
from jobs.page_door import fragment, page, person
from jobs.roles import Act

_DRAFT = "calendar_draft"  # in the session: the text of an iCal file between two pages
BLANK = {"weekdays": ["mon", "tue", "wed", "thu", "fri"]}


@page
@require_GET
def calendar_list(request: HttpRequest) -> HttpResponse:
    """The calendars of the organisation."""
    context = {"calendars": calendars(), "may_create": _may_create(_editor(request))}
    return render(request, "jobs/calendars.html", context)


@page
@require_GET
def calendar(request: HttpRequest, name: str) -> HttpResponse:
    """One calendar: a year of days off, the jobs of one's teams that go by it, its versions."""
    newest = _newest(name)
    today = clock.now().date()
    year = _year(request, today.year)
    found = kept_calendars.content(newest.weekdays, newest.days, newest.known_until)
    jobs = Job.objects.where(person(request).id, Act.READ).filter(calendar=name)
    context = {
        "calendar": newest.calendar,
        "newest": newest,
        "place": _place(newest),
        "year": year,
        "months": [_month(found, year, month, today) for month in range(1, 13)],
        "days_off": [(day, label) for day, label in found.days_off.items() if day.year == year],
        "beyond": newest.known_until and year > newest.known_until.year,
        "jobs": jobs.order_by("team__slug", "name")[:100],
        "used": Job.objects.filter(calendar=name, deleted_at=None).count(),
        "versions": CalendarVersion.objects.filter(calendar=name)
        .select_related("by")
        .defer("content", "days")
        .order_by("-number")[:30],
        "may_change": _editor(request).may_change(name),
    }
    return render(request, "jobs/calendar.html", context)


@page
@require_http_methods(["GET", "POST"])
def calendar_new(request: HttpRequest) -> HttpResponse:
    """Create a calendar."""
    by = _editor(request)
    if not _may_create(by):
        return render(request, "jobs/no_team.html", status=403)
    if request.method == "GET":
        return _form_page(request, CalendarForm(initial=BLANK))
    form = CalendarForm(request.POST, request.FILES, kept=_drafts(request))
    if "look" in request.POST:
        return _form_page(request, _unsent(form))
    name = request.POST.get("name", "").strip()
    if form.is_valid() and _write(form, lambda: editing.create(name, form.content, by=by)):
        request.session.pop(_DRAFT, None)
        messages.success(request, f"The calendar {name} is there. Jobs may go by it.")
        return redirect("calendar", name)
    return _form_page(request, form, status=422)


@page
@require_http_methods(["GET", "POST"])
def calendar_edit(request: HttpRequest, name: str) -> HttpResponse:
    """Change a calendar: first what would move, then, once confirmed, it is saved."""
    newest, by = _newest(name), _editor(request)
    editing.demand(by, name)
    stored = editing.content_of(newest)
    kept = [*_drafts(request), *([stored.ical] if stored.ical else [])]
    if request.method == "GET":
        return _form_page(request, CalendarForm(initial=typed_of(stored), kept=kept), newest)
    form = CalendarForm(request.POST, request.FILES, kept=kept)
    if "look" in request.POST:
        return _form_page(request, _unsent(form), newest)
    seen = request.POST.get("version", "")
    if seen != str(newest.number):
        form.add_error(None, f"Somebody changed the calendar: version {newest.number} is here now.")
        return _form_page(request, form, newest, status=409)
    if not form.is_valid() or "confirm" not in request.POST:
        return _effect_page(request, form, newest, by)
    if not _write(form, lambda: editing.change(name, form.content, by=by, seen=newest.number)):
        return _form_page(request, form, newest, status=422)
    request.session.pop(_DRAFT, None)
    messages.success(request, f"{name} is saved, and its jobs go by it.")
    return redirect("calendar", name)


@page
@require_POST
def calendar_delete(request: HttpRequest, name: str) -> HttpResponse:
    """Delete a calendar that no job goes by."""
    _newest(name)
    try:
        editing.delete(name, by=_editor(request))
    except editing.Refused as refused:
        messages.error(request, f"{refused} Nothing was done.")
        return redirect("calendar", name)
    messages.success(request, f"{name} is deleted.")
    return redirect("calendars")


@fragment
@require_GET
def calendar_subdivisions(request: HttpRequest) -> HttpResponse:
    """The parts of the chosen country, as the field of the form."""
    form = CalendarForm(initial={"country": request.GET.get("country", "")})
    return render(request, "_field.html", {"field": form["subdivision"]})


@dataclass(frozen=True)
class Cell:
    """A day of the year view; `label` names a day off."""

    day: date
    working: bool
    off: bool
    label: str
    today: bool


def _month(found: Calendar, year: int, month: int, today: date) -> tuple[date, list[list[Any]]]:
    """The first of the month, and its weeks from Monday; None pads them."""

    def cell(day: date) -> Cell | None:
        if day.month != month:
            return None
        off, label = day in found.days_off, found.why_off(day)
        return Cell(day, found.is_working(day), off, label, day == today)

    cells = [[cell(day) for day in week] for week in Months().monthdatescalendar(year, month)]
    return date(year, month, 1), cells


def _year(request: HttpRequest, default: int) -> int:
    text = request.GET.get("year", "")
    return int(text) if text.isascii() and text.isdigit() and 1970 <= int(text) < 2200 else default


def _place(newest: CalendarVersion) -> str:
    given = newest.content["holidays"]
    if not given:
        return ""
    country = public_holidays.countries().get(given["country"], given["country"])
    return f"{country}, {given['subdivision']}" if given["subdivision"] else country


def _newest(name: str) -> CalendarVersion:
    try:
        return editing.newest(name)
    except editing.Gone:
        raise Http404 from None


def _editor(request: HttpRequest) -> Editor:
    user = person(request)
    teams = Team.objects.where(user.id, Act.EDIT).values_list("id", flat=True)
    return Editor(user, frozenset(teams))


def _may_create(by: Editor) -> bool:
    return by.user.is_staff or bool(by.teams)


def _drafts(request: HttpRequest) -> list[str]:
    draft = request.session.get(_DRAFT)
    return [draft] if isinstance(draft, str) else []


def _unsent(form: CalendarForm) -> CalendarForm:
    """What was typed so far, not yet judged; a file must be chosen once more."""
    typed = {name: form[name].value() for name in form.fields if name != "ical_file"}
    return CalendarForm(initial=typed, kept=form.kept.values())


def _write(form: CalendarForm, write: Callable[[], object]) -> bool:
    """Whether it was written; where not, the form says why."""
    try:
        write()
    except DefinitionError as error:
        form.refuse(error.problems)
    except editing.Refused as refused:
        form.add_error("name" if "named" in str(refused) else None, str(refused))
    except editing.Gone:
        form.add_error(None, "Somebody deleted this calendar meanwhile. Nothing was saved.")
    else:
        return True
    return False


def _effect_page(
    request: HttpRequest, form: CalendarForm, newest: CalendarVersion, by: Editor
) -> HttpResponse:
    """What the form would do, job by job in the reader's teams, to be confirmed."""
    if not form.is_valid():
        return _form_page(request, form, newest, status=422)
    teams = Team.objects.where(by.user.id, Act.READ).values_list("id", flat=True)
    seen = None if by.user.is_staff else frozenset(teams)
    try:
        found = effects.effect(newest, form.content, teams=seen)
    except DefinitionError as error:
        form.refuse(error.problems)
        return _form_page(request, form, newest, status=422)
    if form.content.ical:
        request.session[_DRAFT] = form.content.ical
    typed = typed_of(form.content)
    context = {"newest": newest, "effect": found, "typed": _pairs(typed)}
    return render(request, "jobs/calendar_effect.html", context)


def _pairs(typed: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, values in typed.items()
        for value in (values if isinstance(values, list) else [values])
    ]


def _form_page(
    request: HttpRequest,
    form: CalendarForm,
    newest: CalendarVersion | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "form": form,
        "newest": newest,
        "version": request.POST.get("version") or (newest and newest.number),
    }
    return render(request, "jobs/calendar_form.html", context, status=status)
