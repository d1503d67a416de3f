"""The signing secret: shown once, sealed at rest, renewed by editors."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from standardwebhooks import Webhook

from jobs import editing, sealing, signing
from jobs.models import Job
from tests import make

pytestmark = pytest.mark.django_db


def kept(job: Job) -> str:
    job.refresh_from_db()
    return sealing.unseal(job.signing_secret, settings.SEALING_KEYS)


def test_a_new_secret_takes_the_place_of_the_old_one_and_is_sealed() -> None:
    job = make.job(make.team())
    old = kept(job)
    secret = signing.renew(job.id, by=None)
    assert secret == kept(job) != old
    assert secret not in job.signing_secret
    Webhook(secret)  # is one that the standard's library takes


def test_the_page_shows_it_once(client: Client) -> None:
    team = make.team()
    job = make.job(team)
    client.force_login(make.editor(team))
    answer = client.post(reverse("job-signing-secret", args=[job.id]))
    assert kept(job) in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert "whsec_" not in client.get(reverse("job", args=[job.id])).content.decode()


def test_the_api_answers_it_once(client: Client) -> None:
    team = make.team()
    job = make.job(team)
    header = {"Authorization": f"Token {make.token(team, make.editor(team))}"}
    address = reverse("api-job-signing-secret", args=[job.id])
    answer = client.post(address, {}, content_type="application/json", headers=header)
    assert answer.json() == {"signing_secret": kept(job)}
    assert "whsec_" not in client.get(reverse("api-job", args=[job.id]), headers=header).text


def test_a_deleted_job_gets_none() -> None:
    job = make.job(make.team())
    editing.delete(job.id, by=None)
    assert signing.renew(job.id, by=None) is None
