"""Times and schedules on the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from jobs import words
from jobs.foresight import neighbours
from jobs.models import Job
from jobs.schedules import instants, schedules, zones
from jobs.schedules.errors import ScheduleError

register = template.Library()


@register.simple_tag(takes_context=True)
def moment(context: Mapping[str, Any], at: datetime | None, job: Job | None = None) -> str:
    """An instant on the clock of the job's schedule, beside it on its reader's and in UTC, where
    these are others; on the reader's clock where no job is given. An en dash for None."""
    if at is None:
        return "–"
    reader = str(context.get("reader_zone", ""))
    if job is None:
        return in_zone(at, reader)
    own = zone_of(job) or "UTC"
    others = [zone for zone in dict.fromkeys((reader or "UTC", "UTC")) if zone != own]
    beside = format_html_join(
        "", ' <span class="utc">{}</span>', ((_beside(at, zone, own),) for zone in others)
    )
    return in_zone(at, "" if own == "UTC" else own) + beside


@register.filter
def instant(text: str) -> datetime:
    """The instant that a document of our own writes down."""
    return instants.parse_instant(text, "at")


@register.filter
def in_zone(at: datetime, zone: str) -> SafeString:
    """An instant on the clock of one zone, as it stands in a sentence."""
    return format_html(
        '<time datetime="{}">{}</time>', schedules.canonical_instant(at), _in(at, zone)
    )


@register.simple_tag
def by_time(at: datetime, zone: str) -> SafeString:
    """A time to be ready by, on the reader's clock: without its day where that is today."""
    there = zones.on_clock(at, zone)
    today = datetime.now(UTC).astimezone(there.tzinfo).date() == there.date()
    said = f"{there:%H:%M}" if today else f"{there:%a} {there.day} {there:%b %H:%M}"
    iso = schedules.canonical_instant(at)
    return format_html('<time datetime="{}">{} {}</time>', iso, said, _place(zone))


@register.filter
def local(previewed: schedules.PreviewedMoment) -> SafeString:
    """A previewed moment on the clock of its schedule, with the clock's offset."""
    at = datetime.fromisoformat(previewed.local)
    return format_html(
        '<time datetime="{}">{} <span class="utc">{}</span></time>',
        schedules.canonical_instant(previewed.moment),
        _day_and_time(at),
        _offset(at),
    )


class Clock(NamedTuple):
    """A further column of the moments: a zone that is not the schedule's own, and its place."""

    zone: str
    place: str


@register.simple_tag
def other_clocks(schedule_zones: Sequence[str], reader: str) -> list[Clock]:
    """The reader's clock and UTC, where the schedule's own column does not show them already."""
    own = tuple(schedule_zones) or ("UTC",)
    found = [Clock(reader, _place(reader)), Clock("UTC", "UTC")]
    clocks = [clock for clock in found if own != (clock.zone,)]
    return clocks if reader != "UTC" else clocks[:1]


@register.filter
def on(previewed: schedules.PreviewedMoment, clock: Clock) -> SafeString | str:
    """A previewed moment on another clock, without its year, which stands in the first column."""
    at = zones.on_clock(previewed.moment, clock.zone)
    if clock.zone == "UTC":
        return _without_year(at)
    return format_html('{} <span class="utc">{}</span>', _without_year(at), _offset(at))


@register.filter
def at_least(others: int) -> str:
    """How many other jobs are due in the same minute, as far as anybody has counted."""
    if others >= neighbours.MOST:
        return f"{neighbours.MOST:,} other jobs and more in this minute"
    return f"at least {others} other job{'' if others == 1 else 's'} in this minute"


@register.filter
def in_words(job: Job) -> str:
    """The job's schedule in words; its expression where it has no short ones."""
    try:
        said = words.of_schedules(schedules.load(job.schedule)) or expression(job)
    except ScheduleError:  # the zone data in use has lost its zone
        said = expression(job)
    use = job.calendar_use
    return f"{said}, {words.of_calendar(use.name, use.rule)}" if use else said


@register.filter
def schedule_in_words(stored: list[dict[str, object]]) -> str:
    """A stored schedule with all that it says; as it is stored where zone data have lost its
    zone."""
    try:
        found = schedules.load(stored)
    except ScheduleError:
        return json.dumps(stored)
    short = words.of_schedules(found)
    return f"{short} ({words.spelled(found)})" if short else words.spelled(found)


@register.filter
def expression(job: Job) -> str:
    """The cron expressions of a job, as they were written."""
    found = [str(item["cron"]) for item in job.schedule if "cron" in item]
    return "; ".join(found)


@register.filter
def clock_of(job: Job) -> str:
    """The zones whose clock the job's schedule reads, UTC too; empty where it reads none."""
    named = [str(item["timezone"]) for item in job.schedule if "timezone" in item]
    return ", ".join(dict.fromkeys(named))


@register.filter
def zone_of(job: Job) -> str:
    """The first zone that the job's schedule names; empty where it names none or UTC."""
    named = [str(item["timezone"]) for item in job.schedule if "timezone" in item]
    return named[0] if named and named[0] != "UTC" else ""


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """An instant that the browser tells as how long ago, or in how long: static/times.js. The
    text is the whole time, for who has no JavaScript, and for the tooltip."""
    if at is None:
        return ""
    return format_html(
        '<time data-relative datetime="{}">{}</time>', schedules.canonical_instant(at), _in(at, "")
    )


@register.simple_tag
def clock_in(zone: str) -> SafeString:
    """The time of day now on the reader's clock and in UTC; the browser keeps it going."""
    now = datetime.now(UTC)
    there = f"{zones.on_clock(now, zone):%H:%M}"
    here = format_html('<span data-zone="{}">{}</span> {}', zone, there, _place(zone))
    utc = format_html(
        ' <span class="utc"><span data-zone="UTC">{}</span> UTC</span>', f"{now:%H:%M}"
    )
    shown = here if zone == "UTC" else here + utc
    return format_html('<span data-clock="{}">{}</span>', now.isoformat(), shown)


@register.filter
def span(length: timedelta | float) -> str:
    """A length of time (seconds, if a number) in its two largest units: `1 m 20 s`."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count or parts:
            parts.append(f"{count:.0f} {unit}" if count else "")
    return " ".join(parts[:2]).strip()


@register.filter
def pretty(value: Any) -> str:
    """JSON for people; text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _in(at: datetime, zone: str) -> str:
    if not zone:
        return f"{_day_and_time(at.astimezone(UTC))} UTC"
    try:
        there = zones.on_clock(at, zone)
    except ScheduleError:  # the zone data in use has lost it
        return _in(at, "")
    return f"{_day_and_time(there)} {_place(zone)}"


def _beside(at: datetime, zone: str, shown: str) -> str:
    """The instant on a further clock: without its day where that is the one shown already."""
    try:
        there, first = zones.on_clock(at, zone), zones.on_clock(at, shown)
    except ScheduleError:  # the zone data in use has lost one
        return _in(at, "" if zone == "UTC" else zone)
    if there.date() == first.date():
        return f"{there:%H:%M}{_seconds(there)} {_place(zone)}"
    return f"{_without_year(there)} {_place(zone)}"


def _place(zone: str) -> str:
    """The city of a zone's name, for where the whole name would take too much room."""
    return zone.rpartition("/")[2].replace("_", " ")


def _offset(at: datetime) -> str:
    offset = at.isoformat()[-6:]
    return "UTC" if offset == "+00:00" else f"UTC{offset}"


def _day_and_time(at: datetime) -> str:
    return f"{at:%a} {at.day} {at:%b %Y %H:%M}{_seconds(at)}"


def _without_year(at: datetime) -> str:
    return f"{at:%a} {at.day} {at:%b %H:%M}{_seconds(at)}"


def _seconds(at: datetime) -> str:
    return f":{at:%S}" if at.second or at.microsecond else ""
