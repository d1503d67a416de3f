"""The doors of holds: API and pages say the same, to whom it concerns."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from jobs import clock, holds
from jobs.models import Hold, Job, Team, User
from jobs.roles import Role
from jobs.schedules.instants import canonical_instant, parse_instant
from runs import start
from runs.holds import letting_go
from runs.models import Run
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff() -> User:
    """Of the platform, and in no team that owns jobs here."""
    user = make.member(make.team("platform"), Role.VIEWER, "staff")
    user.is_staff = True
    user.save()
    return user


def waiting(team: Team, hold: Hold, name: str = "settle", *minutes: int) -> Job:
    job = make.job(team, name=name, catch_up={"policy": "last", "window": 3600})
    for minute in minutes or (90, 30, 5):
        due_at = clock.now() - timedelta(minutes=minute)
        make.run(job, State.WAITING, origin="schedule", due_at=due_at, hold=hold)
    return job


def states(job: Job) -> list[str]:
    return list(Run.objects.filter(job=job).order_by("due_at").values_list("state", flat=True))


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_a_hold_from_its_beginning_to_its_end(api: Api, team: Team) -> None:
    until = canonical_instant(clock.now() + timedelta(hours=1))
    begun = api.post("holds/", {"reason": "The ledger moves.", "until": until})
    assert begun.status == 201
    assert (begun.body["team"], begun.body["by"], begun.body["until"]) == (
        "payments",
        "operator",
        until,
    )
    hold = Hold.objects.get()
    assert begun.headers["Location"].endswith(f"/holds/{hold.id}/")
    job = waiting(team, hold)
    (owed,) = api.get(f"holds/{hold.id}/owed/").body["results"]
    assert (owed["job"], owed["moments"], owed["other_runs"]) == (str(job.id), 3, 0)
    assert owed["by_policy"] == {"fire": 1, "ask": 0, "skip": 2}
    assert owed["first"] < owed["last"]
    ended = api.post(f"holds/{hold.id}/end/", {"choices": {str(job.id): "drop"}})
    assert ended.body["choices"] == {str(job.id): "drop"}
    assert ended.body["ended_by"] == "operator"
    letting_go.due()
    assert states(job) == ["SKIPPED"] * 3
    assert api.get(f"holds/{hold.id}/owed/").body["results"] == []


def test_the_list_is_of_the_team_and_of_the_installation(api: Api, team: Team) -> None:
    over = holds.begin(team, "Over.", by=None)
    holds.end(over.id, by=None)
    holds.begin(None, "All.", by=None)
    holds.begin(make.team("elsewhere"), "Theirs.", by=None)
    assert [one["reason"] for one in api.get("holds/").body["results"]] == ["All.", "Over."]
    assert [one["team"] for one in api.get("holds/?state=on").body["results"]] == [None]
    assert [one["reason"] for one in api.get("holds/?state=over").body["results"]] == ["Over."]
    assert api.get("holds/?state=open").fields == ["state"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "reason"),
        ({"reason": " "}, 400, "reason"),
        ({"reason": 5}, 400, "reason"),
        ({"reason": "x" * 501}, 400, "reason"),
        ({"reason": "x", "until": "2020-01-01T00:00:00Z"}, 400, "until"),
        ({"reason": "x", "until": "tomorrow"}, 400, "until"),
        ({"reason": "x", "scope": "all"}, 400, "scope"),
        ({"reason": "x", "team": "elsewhere"}, 404, "team"),
        ({"reason": "x", "team": 7}, 404, "team"),
    ],
)
def test_what_is_wrong_is_named(api: Api, body: dict[str, Any], status: int, field: str) -> None:
    answer = api.post("holds/", body)
    assert (answer.status, answer.fields) == (status, [field])
    assert not Hold.objects.exists()


def test_a_second_hold_and_a_second_end_are_conflicts(api: Api, team: Team) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    again = api.post("holds/", {"reason": "Again."})
    assert (again.status, "The ledger moves." in again.body["detail"]) == (409, True)
    assert api.post(f"holds/{hold.id}/end/").status == 200
    late = api.post(f"holds/{hold.id}/end/")
    assert (late.status, "operator ended it" in late.body["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"choices": []}, "choices"),
        ({"choices": {"x": "drop"}}, "choices.x"),
        ({"choices": {str(UUID(int=5)): "drop"}}, f"choices.{UUID(int=5)}"),
        ({"others": "burn"}, "others"),
        ({"others": ["drop"]}, "others"),
        ({"choice": {}}, "choice"),
    ],
)
def test_a_choice_that_is_none_is_named_and_ends_nothing(
    api: Api, team: Team, body: dict[str, Any], field: str
) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    answer = api.post(f"holds/{hold.id}/end/", body)
    assert (answer.status, answer.fields) == (400, [field])
    hold.refresh_from_db()
    assert hold.ended_at is None


def test_another_teams_job_is_no_choice(api: Api, team: Team) -> None:
    theirs = make.job(make.team("elsewhere"), name="theirs")
    hold = holds.begin(team, "The ledger moves.", by=None)
    answer = api.post(f"holds/{hold.id}/end/", {"choices": {str(theirs.id): "drop"}})
    assert answer.fields == [f"choices.{theirs.id}"]


def test_the_whole_installation_is_the_staffs(api: Api, team: Team, staff: User) -> None:
    assert api.post("holds/", {"reason": "All.", "team": None}).status == 403
    theirs = Api.of(make.team("platform"), staff)
    begun = theirs.post("holds/", {"reason": "All.", "team": None})
    assert (begun.status, begun.body["team"]) == (201, None)
    job = waiting(team, Hold.objects.get())
    where = f"holds/{begun.body['id']}/"
    assert [row["team"] for row in theirs.get(f"{where}owed/").body["results"]] == ["payments"]
    assert [row["name"] for row in api.get(f"{where}owed/").body["results"]] == ["settle"]
    assert api.post(f"{where}end/").status == 403
    assert theirs.post(f"{where}end/", {"choices": {str(job.id): "fire"}}).status == 200


def test_a_run_by_hand_under_a_hold_is_a_conflict_that_says_why(api: Api, team: Team) -> None:
    job = make.job(team)
    hold = holds.begin(team, "The ledger moves.", by=None)
    answer = api.post(f"jobs/{job.id}/run/")
    assert answer.status == 409
    assert answer.body["reason"] == "The ledger moves."
    assert answer.body["hold"].endswith(f"/holds/{hold.id}/")


def test_a_run_for_a_held_moment_is_let_past_and_for_a_skipped_one_refused(
    api: Api, team: Team
) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    job = waiting(team, hold, "settle", 5)
    moment = Run.objects.get().due_at
    assert moment is not None
    answer = api.post(f"jobs/{job.id}/run/", {"for": canonical_instant(moment)})
    assert (answer.status, answer.body["state"], answer.body["hold"]) == (201, "CLAIMED", None)
    assert start.run(Run.objects.get().id, worker="w") is not None
    again = api.post(f"jobs/{job.id}/run/", {"for": canonical_instant(moment)})
    assert again.status == 409
    skipped = clock.now().replace(microsecond=0) - timedelta(hours=1)
    columns = {"due_at": skipped, "skipped_until": skipped, "origin": "schedule"}
    make.run(job, State.SKIPPED, **columns)
    refused = api.post(f"jobs/{job.id}/run/", {"for": canonical_instant(skipped)})
    assert (refused.status, refused.body.get("reason")) == (409, "The ledger moves.")


def test_a_held_run_names_its_hold(api: Api, team: Team) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    job = waiting(team, hold, "settle", 5)
    (run,) = api.get(f"runs/?job={job.id}").body["results"]
    assert (run["hold"], run["let_past_at"]) == (str(hold.id), None)


# ── the pages ────────────────────────────────────────────────────────────────────────────


def test_a_person_holds_a_team_sees_what_waits_and_ends_it(team: Team, operator: User) -> None:
    browser = Browser(operator)
    page = browser.post("/holds/", scope="payments", reason="The ledger moves.")
    assert page.status == 200
    hold = Hold.objects.get()
    assert page.url == f"/holds/{hold.id}/"
    first, second = waiting(team, hold, "first"), waiting(team, hold, "second")
    page = browser.get(page.url)
    assert "1 fires, 2 recorded as skipped" in page.words
    page = browser.send(page.url, {f"choice-{first.id}": "fire", f"choice-{second.id}": "policy"})
    assert "The hold is over." in page.words
    letting_go.due()
    assert states(first) == ["CLAIMED"] * 3
    assert states(second) == ["SKIPPED", "SKIPPED", "CLAIMED"]
    assert "Nothing waits any more." in browser.get(page.url).words


@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"scope": "payments"}, "reason", "needs a reason"),
        ({"scope": "elsewhere", "reason": "x"}, "scope", "nothing that you may hold"),
        ({"scope": "*", "reason": "x"}, "scope", "nothing that you may hold"),
        ({"reason": "x"}, "scope", "Choose what"),
        ({"scope": "payments", "reason": "x", "until": "soon"}, "until", "is not an instant"),
        ({"scope": "payments", "reason": "x" * 501}, "reason", "at most 500"),
    ],
)
def test_the_form_says_what_is_wrong(
    operator: User, fields: dict[str, str], field: str, said: str
) -> None:
    page = Browser(operator).post("/holds/", **fields)
    assert page.status == 422
    assert said in page.error(field)
    assert not Hold.objects.exists()


def test_a_hold_may_end_so_long_from_now(team: Team, operator: User) -> None:
    fields = {"scope": team.slug, "reason": "The ledger moves.", "until": "2h"}
    Browser(operator).send("/holds/", fields)
    hold = Hold.objects.get()
    assert hold.until is not None
    assert timedelta(0) < hold.until - clock.now() <= timedelta(hours=2)


def test_the_form_says_that_a_hold_is_on_already(team: Team, operator: User) -> None:
    holds.begin(team, "The ledger moves.", by=None)
    page = Browser(operator).post("/holds/", scope="payments", reason="Again.")
    assert "The ledger moves." in page.error("scope")


def test_every_page_of_the_team_says_that_a_hold_is_on(team: Team, operator: User) -> None:
    outsider = Browser(make.outsider())
    job = make.job(team)
    holds.begin(team, "The ledger moves.", by=None)
    browser = Browser(operator)
    for path in ("/jobs/", "/runs/", "/review/", f"/jobs/{job.id}/", "/holds/"):
        assert "On hold: team Payments. The ledger moves." in browser.get(path).words, path
        assert "On hold" not in outsider.get(path).words
    assert "waits for the hold of team payments" in browser.get(f"/jobs/{job.id}/").words
    holds.begin(None, "Restored.", by=None)
    assert "On hold: the whole installation. Restored." in outsider.get("/jobs/").words


def test_run_now_says_that_nothing_starts(team: Team, operator: User) -> None:
    job = make.job(team)
    holds.begin(team, "The ledger moves.", by=None)
    browser = Browser(operator)
    assert "Nothing starts just now." in browser.get(f"/jobs/{job.id}/run-now/").words
    page = browser.post(f"/jobs/{job.id}/run-now/")
    assert not page.all("button", class_="button primary")
    said = browser.post(f"/jobs/{job.id}/run-now/", moment="now").words
    assert "Nothing was started. Held: The ledger moves." in said
    assert not Run.objects.exists()


def test_run_now_offers_a_held_moment_and_lets_it_alone_past(team: Team, operator: User) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    job = waiting(team, hold, "settle", 90, 5)
    browser = Browser(operator)
    page = browser.post(f"/jobs/{job.id}/run-now/")
    offered = [radio.attrs["value"] for radio in page.all("input", name="moment")]
    waits = Run.objects.order_by("due_at").values_list("due_at", flat=True)
    assert offered == [canonical_instant(at) for at in waits if at]
    page = browser.post(f"/jobs/{job.id}/run-now/", moment=offered[0])
    assert "is on its way" in page.words
    run = Run.objects.get(due_at=parse_instant(offered[0], "moment"))
    assert start.run(run.id, worker="w") is not None
    assert sorted(states(job)) == ["RUNNING", "WAITING"]


def test_who_asks_to_hold_everything_is_offered_everything(team: Team, staff: User) -> None:
    browser = Browser(staff)
    (link,) = [a for a in browser.get("/").all("a") if "Hold every" in a.text]
    page = browser.get(link.attrs["href"])
    (chosen,) = [one for one in page.all("option") if "selected" in one.attrs]
    assert chosen.text == "The whole installation"
    assert "open" in page.all("details", class_="action")[0].attrs
    plain = browser.get("/holds/").all("details", class_="action")[0]
    assert "open" not in plain.attrs


def test_of_several_to_hold_none_is_chosen_already(team: Team, operator: User) -> None:
    make.team("billing").membership_set.create(user=operator, role=Role.OPERATOR)
    browser = Browser(operator)
    for path in ("/holds/", "/holds/windows/new/"):
        offered = browser.get(path).all("option")
        assert [one.attrs["value"] for one in offered] == ["", "billing", "payments"]
        assert {one.text for one in offered if "selected" in one.attrs} <= {"Choose…"}
    page = browser.send("/holds/", {"reason": "The ledger moves.", "scope": ""})
    assert "Choose what" in page.error("scope")


def test_an_operator_is_offered_no_more_than_may_be_held(team: Team, operator: User) -> None:
    page = Browser(operator).get("/holds/?scope=*")
    assert [one.attrs["value"] for one in page.all("option")] == ["payments"]


def test_a_choice_that_is_none_ends_nothing(team: Team, operator: User) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    job = waiting(team, hold)
    page = Browser(operator).send(f"/holds/{hold.id}/", {f"choice-{job.id}": "burn"})
    assert (page.status, "“burn” is no choice" in page.words) == (422, True)
    assert holds.over(team.id) == hold


def test_who_comes_too_late_is_told_who_was_faster(team: Team, operator: User) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    holds.end(hold.id, by=operator)
    page = Browser(operator).send(f"/holds/{hold.id}/", {"others": "drop"})
    assert "operator ended it" in page.words


def test_the_installations_hold_is_ended_by_staff_who_see_every_teams_jobs(
    team: Team, operator: User, staff: User
) -> None:
    browser = Browser(staff)
    page = browser.post("/holds/", scope="*", reason="Restored.")
    job = waiting(team, Hold.objects.get())
    assert "settle" in browser.get(page.url).words
    theirs = Browser(operator).get(page.url)
    assert "settle" in theirs.words
    assert not theirs.all("select", name="others")
    assert Browser(operator).send(page.url, {}).status == 403
    assert "The hold is over." in browser.send(page.url, {f"choice-{job.id}": "drop"}).words


def test_the_page_of_a_held_run_leads_to_the_hold(team: Team, operator: User) -> None:
    hold = holds.begin(team, "The ledger moves.", by=None)
    waiting(team, hold, "settle", 5)
    page = Browser(operator).get(f"/runs/{Run.objects.get().id}/")
    assert page.all("a", href=f"/holds/{hold.id}/")
