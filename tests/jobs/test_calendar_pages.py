"""The pages of calendars, as a person without JavaScript uses them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from jobs import clock
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.calendars.editing import Editor
from jobs.models import Calendar, CalendarVersion, Due, Job, User
from tests import make
from tests.pages import Browser, Page, typed

pytestmark = pytest.mark.django_db

EVERY_DAY = {"cron": "0 9 * * *", "timezone": "UTC"}
ALL = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
ICAL = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20201231\r\n"
    "RRULE:FREQ=YEARLY\r\nSUMMARY:Inventory\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.fixture
def user() -> User:
    return make.editor(make.team())


@pytest.fixture
def browser(user: User) -> Browser:
    return Browser(user)


def saved(*days: str, by: User | None = None, **more: Any) -> None:
    content = calendar_content.read(
        {"weekdays": ALL, "days_off": [{"date": day, "label": "Closed"} for day in days], **more}
    )
    author = by or make.person("author", is_staff=True)
    calendar_editing.create("bank", content, by=Editor(author, frozenset({make.team().id})))


def send(browser: Browser, path: str, **fields: Any) -> Page:
    """A form with boxes and a file, with the token of any page."""
    token = browser.get("/jobs/").all("input", name="csrfmiddlewaretoken")[0].attrs["value"]
    data = {"csrfmiddlewaretoken": token, **fields}
    return browser._page(browser.client.post(path, data, follow=True))


def confirmed(browser: Browser, page: Page) -> Page:
    """The fields of the page that shows what would move, sent as they stand."""
    fields: dict[str, Any] = {}
    for one in page.all("input", type="hidden"):
        name, value = one.attrs["name"], one.attrs.get("value", "")
        fields.setdefault(name, []).append(value)
    return send(browser, "/calendars/bank/edit/", **fields, confirm="1")


def test_a_calendar_is_created_from_a_country_and_shown_by_year(browser: Browser) -> None:
    page = send(
        browser,
        "/calendars/new/",
        name="us-bank",
        description="Of the bank",
        weekdays=ALL[:5],
        country="US",
        subdivision="NY",
        days_off="2030-12-24 Christmas Eve\n\n2030-12-23",
    )
    assert (page.status, page.url) == (200, "/calendars/us-bank/")
    shown = browser.get("/calendars/us-bank/?year=2030")
    assert "Tue 24 Dec Christmas Eve" in shown.words
    assert "Thu 4 Jul Independence Day" in shown.words
    assert "United States, NY" in shown.words
    assert "us-bank" in browser.get("/calendars/").words
    beyond = browser.get("/calendars/us-bank/?year=2150").words
    assert "After that only weekdays count" in beyond


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"name": "Bad Name"}, "name", "is no name"),
        ({"name": "bank"}, "name", "already"),
        ({"weekdays": []}, "weekdays", "no working weekday"),
        ({"days_off": "2030-01-01\n2030-02-30 x"}, "days_off", "Line 2: '2030-02-30' is no date."),
        ({"days_off": "2030-01-01\n2030-01-01"}, "days_off", "named twice"),
        ({"country": "XX"}, "country", "no country known here"),
        ({"ical_file": b"hello"}, "ical_file", "Line 1"),
        ({"ical_file": b"x" * (10 * 1024 * 1024)}, "ical_file", "at most 1,048,576"),
        ({"ical_kept": "0" * 64}, "ical_file", "Choose it once more"),
    ],
)
def test_what_is_wrong_stands_at_its_field(
    browser: Browser, fields: dict[str, Any], field: str, said: str
) -> None:
    saved()
    if isinstance(body := fields.get("ical_file"), bytes):
        fields = {**fields, "ical_file": SimpleUploadedFile("x.ics", body)}
    page = send(browser, "/calendars/new/", **{"name": "other", "weekdays": ALL, **fields})
    assert (page.status, Calendar.objects.count()) == (422, 1)
    assert said in page.error(field)


def test_a_change_shows_what_it_moves_and_is_saved_once_confirmed(
    browser: Browser, user: User
) -> None:
    saved()
    job = make.job(make.team(), name="eod", schedule=EVERY_DAY, calendar={"name": "bank"})
    day = (clock.now() + timedelta(days=2)).date()
    file = SimpleUploadedFile("x.ics", ICAL.encode())
    fields = {"weekdays": ALL, "days_off": f"{day} Inventory", "ical_file": file, "version": "1"}
    page = send(browser, "/calendars/bank/edit/", **fields)
    assert "Nothing is saved yet" in page.words
    assert "1 of 1 job changes" in page.words
    assert f"{day.day} {day:%b %Y} 09:00 UTC vanishes" in page.words
    assert CalendarVersion.objects.count() == 1
    done = confirmed(browser, page)
    assert (done.url, Calendar.objects.get().version) == ("/calendars/bank/", 2)
    newest = CalendarVersion.objects.get(number=2)
    assert (newest.content["ical"], newest.by) == (ICAL, user)
    job.refresh_from_db()
    assert (job.version, job.calendar_version) == (2, 2)
    kept = browser.get("/calendars/bank/edit/")
    again = send(
        browser,
        "/calendars/bank/edit/",
        weekdays=ALL,
        version="2",
        ical_kept=kept.value("ical_kept"),
    )
    assert "is taken out" in again.words and "Inventory" in again.words
    confirmed(browser, again)
    assert CalendarVersion.objects.get(number=3).content["ical"] == ICAL
    without = {"weekdays": ALL, "version": "3", "ical_kept": kept.value("ical_kept")}
    confirmed(browser, send(browser, "/calendars/bank/edit/", **without, without_ical="on"))
    assert CalendarVersion.objects.get(number=4).content["ical"] is None


def test_whoever_comes_too_late_sees_that_nothing_was_saved(browser: Browser) -> None:
    saved()
    page = send(browser, "/calendars/bank/edit/", weekdays=ALL, version="0", confirm="1")
    assert (page.status, "Somebody changed the calendar" in page.words) == (409, True)
    assert Calendar.objects.get().version == 1


def test_a_calendar_of_other_teams_jobs_is_shown_but_not_changed(browser: Browser) -> None:
    saved()
    make.job(make.team("ledger"), name="of-ledger", schedule=EVERY_DAY, calendar={"name": "bank"})
    shown = browser.get("/calendars/bank/")
    assert "1 job goes by it" in shown.words
    assert "of-ledger" not in shown.html and "/edit/" not in shown.html
    assert browser.get("/calendars/bank/edit/").status == 403
    assert send(browser, "/calendars/bank/delete/").status == 403
    staff = Browser(make.person("staff", is_staff=True))
    assert staff.get("/calendars/bank/edit/").status == 200
    effect = send(staff, "/calendars/bank/edit/", weekdays=ALL[:5], version="1")
    assert "of-ledger" in effect.words


def test_a_calendar_that_no_job_goes_by_is_deleted(browser: Browser) -> None:
    saved()
    job = make.job(make.team(), schedule=EVERY_DAY, calendar={"name": "bank"})
    kept = send(browser, "/calendars/bank/delete/")
    assert "1 job goes by this calendar" in kept.words
    Job.objects.filter(id=job.id).update(deleted_at=clock.now())
    assert send(browser, "/calendars/bank/delete/").url == "/calendars/"
    assert browser.get("/calendars/bank/").status == 404


def test_a_country_chosen_without_javascript_offers_its_parts(browser: Browser) -> None:
    page = send(browser, "/calendars/new/", name="x", country="DE", days_off="2030-1", look="1")
    assert (page.status, page.value("name")) == (200, "x")
    assert page.all("option", value="BY")
    fragment = browser.get("/calendars/subdivisions/?country=US")
    assert fragment.all("option", value="NY")
    assert browser.get("/calendars/subdivisions/?country=nowhere").status == 200


def test_the_job_form_takes_a_calendar_and_previews_by_it(browser: Browser) -> None:
    tomorrow = (clock.now() + timedelta(days=1)).date()
    saved(str(tomorrow))
    query = "schedule_kind=cron&cron=0+9+*+*+*&timezone=UTC&calendar=bank&calendar_rule="
    skipped = browser.get(f"/jobs/preview/?{query}skip")
    assert f"{tomorrow:%A} {tomorrow.day} {tomorrow:%B %Y} (Closed)" in skipped.words
    assert "rolled" not in skipped.words
    nowhere = browser.get("/jobs/preview/?" + query.replace("bank", "nowhere"))
    assert "see “Calendar”" in nowhere.words
    fields = typed(cron="0 9 * * *", timezone="UTC", calendar="bank", calendar_rule="next")
    page = browser.send("/jobs/new/", fields)
    assert page.status == 200
    job = Job.objects.get()
    assert (job.calendar_id, job.calendar_rule, job.calendar_version) == ("bank", "next", 1)
    settings = browser.get(f"/jobs/{job.id}/?tab=settings")
    assert "rolls to the next working day" in settings.words
    edit = browser.get(f"/jobs/{job.id}/edit/")
    assert [one.attrs["value"] for one in edit.all("option", selected="")].count("bank") == 1
    every = {**fields, "name": "b", "schedule_kind": "every", "every": "5"}
    wrong = browser.send("/jobs/new/", every)
    assert (wrong.status, "has no days for a calendar" in wrong.error("calendar")) == (422, True)
    assert Due.objects.count() == 1
