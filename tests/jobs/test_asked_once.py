"""One `Idempotency-Key`, one effect, one answer: whoever repeats a request, at once or later, and
whatever else he says with it (K129)."""

from __future__ import annotations

from functools import partial

import pytest
from django.db.models.functions import Now

from jobs import asked_once
from jobs.models import Asked, Job, Team
from runs import housekeeping
from runs.models import Run
from tests import make
from tests.api import Answer, Api
from tests.races import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(team: Team) -> Api:
    return Api.of(team, make.editor(team))


def post(api: Api, path: str, data: object, key: str) -> Answer:
    return api.call("POST", path, data, {"Idempotency-Key": key})


def test_the_same_request_gets_the_same_answer_and_does_nothing(api: Api) -> None:
    first = post(api, "jobs/", make.shape(), "K")
    again = post(api, "jobs/", make.shape(), "K")
    assert first.status == 201
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Location"] == first.headers["Location"]
    assert Job.objects.count() == 1


def test_the_answer_is_kept_sealed(api: Api) -> None:
    told = post(api, "jobs/", make.shape(), "K").body
    assert told["signing_secret"] not in Asked.objects.get().answer


def test_another_content_or_address_with_the_key_is_refused(api: Api) -> None:
    job_id = post(api, "jobs/", make.shape(), "K").body["id"]
    answer = post(api, "jobs/", make.shape(name="other"), "K")
    assert (answer.status, answer.body["errors"][0]["field"]) == (422, "Idempotency-Key")
    assert post(api, f"jobs/{job_id}/run/", None, "K").status == 422
    assert (Job.objects.count(), Run.objects.count()) == (1, 0)


def test_a_run_by_hand_is_made_once(api: Api, team: Team) -> None:
    job = make.job(team)
    first, again = (post(api, f"jobs/{job.id}/run/", None, "K") for _ in range(2))
    assert first.body["id"] == again.body["id"]
    assert Run.objects.count() == 1


def test_what_was_refused_may_come_again_with_its_key(api: Api) -> None:
    assert post(api, "jobs/", make.shape(name=""), "K").status == 400
    assert post(api, "jobs/", make.shape(), "K").status == 201


def test_the_key_of_another_team_is_another_key(api: Api) -> None:
    elsewhere = make.team("elsewhere")
    other = Api.of(elsewhere, make.editor(elsewhere, "other"))
    assert post(api, "jobs/", make.shape(), "K").status == 201
    answer = post(other, "jobs/", make.shape(), "K")
    assert (answer.status, answer.body["team"]) == (201, "elsewhere")


@pytest.mark.parametrize("key", ["", "x" * 201, "a\tb", "clé"])
def test_what_is_no_key_is_refused(api: Api, key: str) -> None:
    answer = post(api, "jobs/", make.shape(), key)
    assert (answer.status, answer.body["errors"][0]["field"]) == (400, "Idempotency-Key")


def test_after_a_day_the_key_is_free_again(api: Api) -> None:
    post(api, "jobs/", make.shape(), "K")
    Asked.objects.update(at=Now() - 2 * asked_once.KEPT)
    assert post(api, "jobs/", make.shape(name="other"), "K").status == 201
    Asked.objects.update(at=Now() - 2 * asked_once.KEPT)
    assert asked_once.forget() == 1


def register(secret: str, number: int) -> Answer:
    return post(Api(secret), "jobs/", make.shape(name=f"job {number}"), f"K {number}")


@pytest.mark.django_db(transaction=True)
def test_at_one_instant_one_does_the_work_and_all_get_its_answer() -> None:
    team = make.team()
    secret = make.token(team, make.editor(team))

    for number in range(10):
        asked = partial(register, secret, number)
        answers = at_once(asked, asked, asked)
        assert {answer.status for answer in answers} == {201}
        assert len({answer.body["id"] for answer in answers}) == 1
    assert Job.objects.count() == 10


def test_the_daily_key_expiry_forgets_old_requests(api: Api) -> None:
    post(api, "jobs/", make.shape(), "K")
    housekeeping.key_expiry()
    assert Asked.objects.count() == 1
    Asked.objects.update(at=Now() - 2 * asked_once.KEPT)
    housekeeping.key_expiry()
    assert not Asked.objects.exists()
