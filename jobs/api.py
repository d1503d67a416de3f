"""The API's doors to jobs. The rules are in jobs/editing.py and jobs/definitions/definitions.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, api_shapes, asked, clock, editing, paging, sealing, signing, stored
from jobs.api_door import Door
from jobs.asked_once import once
from jobs.definitions import definitions
from jobs.definitions.definitions import Definition, Problem
from jobs.foresight import foresight
from jobs.models import Job, JobVersion, Team
from jobs.offer import offered
from jobs.problems import BadRequest
from jobs.roles import Act

_MOST_MOMENTS = 100


class RegisterDoor(Door):
    """`jobs/`: a new one; the list, which tells of runs too, is added in runs/dashboard."""

    @once
    def post(self, request: Request) -> Response:
        """A new job, 201; the one answer that holds its signing secret."""
        team = access.team(request, Act.EDIT)
        definition = _definition(_of_team(request.data, team), beside=("team",))
        job = editing.register(team, definition, by=access.person(request))
        secret = sealing.unseal(job.signing_secret, settings.SEALING_KEYS)
        shown = {**_shown(request, job.id), "signing_secret": secret}
        return Response(shown, status=201, headers={"Location": _address(request, job)})


class JobDoor(Door):
    """`jobs/{id}/`: one job."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """The job."""
        asked.parameters(request, ())
        return Response(api_shapes.of_job(access.job(request, job_id, Act.READ)))

    def put(self, request: Request, job_id: UUID) -> Response:
        """The job with this content; what is left out gets its default."""
        job = access.job(request, job_id, Act.EDIT)
        return _edited(request, job, _content(request.data, job))

    def patch(self, request: Request, job_id: UUID) -> Response:
        """The job with these fields changed; of `retries` and `catch_up` also single members."""
        job = access.job(request, job_id, Act.EDIT)
        changes = _content(request.data, job)
        return _edited(request, job, _patched(job, changes), seen=job.version)

    def delete(self, request: Request, job_id: UUID) -> Response:
        """The job gone, 204; its runs stay."""
        job = access.job(request, job_id, Act.EDIT)
        editing.delete(job.id, by=access.person(request))
        return Response(status=204)


class PauseDoor(Door):
    """`jobs/{id}/pause/`."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """The job paused: `reason`, and `until` an instant, or for good. Or, not paused, with
        its next `skip_next` moments left out."""
        job = access.job(request, job_id, Act.OPERATE)
        data = asked.members(request, ("reason", "until", "skip_next"))
        if "skip_next" in data:
            return self.skip(request, job, data)
        until = asked.instant_to_come(data, "until", clock.now())
        pause = editing.Pause(reason=asked.text(data, "reason"), until=until)
        editing.pause(job.id, pause, by=access.person(request))
        return Response(_shown(request, job.id))

    def skip(self, request: Request, job: Job, data: Mapping[str, Any]) -> Response:
        """The job with so many moments to leave out; 0 takes that back."""
        if data.get("until") is not None:
            hint = "Give one of them."
            raise BadRequest(Problem("skip_next", "cannot go together with until.", hint))
        count = asked.whole_number(data, "skip_next", definitions.MOST_SKIPPED) or 0
        reason = asked.text(data, "reason")
        editing.skip_next(job.id, count, reason=reason, by=access.person(request))
        return Response(_shown(request, job.id))


class ResumeDoor(Door):
    """`jobs/{id}/resume/`."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """The job active from now on."""
        job = access.job(request, job_id, Act.OPERATE)
        asked.members(request, ())
        editing.resume(job.id, by=access.person(request))
        return Response(_shown(request, job.id))


class SigningSecretDoor(Door):
    """`jobs/{id}/signing-secret/`."""

    def post(self, request: Request, job_id: UUID) -> Response:
        """A new secret, in the one answer that shows it; runs are signed with it from now on."""
        job = access.job(request, job_id, Act.EDIT)
        asked.members(request, ())
        secret = signing.renew(job.id, by=access.person(request))
        if secret is None:
            raise editing.Gone
        return Response({"signing_secret": secret})


class DueDoor(Door):
    """`jobs/{id}/due/`: its next moments."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """The next `?count=` moments, 10 unless told; none of a job paused without an end."""
        asked.parameters(request, ("count",))
        job = access.job(request, job_id, Act.READ)
        count = asked.count(request, "count", 10, _MOST_MOMENTS)
        now = clock.now()
        after = api_shapes.active_from(job, now)
        found = foresight.of_job(job, after or now, count if after else 0)
        said = {"words": found.words, "remarks": found.remarks}
        shown = [api_shapes.of_moment(moment, others) for moment, others in found.rows]
        return Response({"results": shown, "next": None, **said})


class VersionsDoor(Door):
    """`jobs/{id}/versions/`: its edits."""

    def get(self, request: Request, job_id: UUID) -> Response:
        """The edits, newest first."""
        asked.parameters(request, paging.PARAMETERS)
        job = access.job(request, job_id, Act.READ)
        rows = JobVersion.objects.filter(job=job).select_related("by").defer("definition")
        return paging.page(request, rows, ("-number",), api_shapes.of_version)


def _shown(request: Request, job_id: UUID) -> dict[str, Any]:
    return api_shapes.of_job(access.job(request, job_id, Act.READ))


def _address(request: Request, job: Job) -> str:
    return request.build_absolute_uri(reverse("api-job", args=[job.id]))


def _edited(request: Request, job: Job, content: object, *, seen: int | None = None) -> Response:
    definition = _definition(content, kept=stored.kept(job))
    editing.edit(job.id, definition, by=access.person(request), seen=seen)
    return Response(_shown(request, job.id))


def _definition(
    content: object,
    kept: definitions.Kept | None = None,
    beside: tuple[str, ...] = (),
) -> Definition:
    return definitions.read(content, now=clock.now(), known=offered(), kept=kept, beside=beside)


def _of_team(data: object, team: Team) -> object:
    """The body without its team, which must be the token's: any other is not there."""
    if not isinstance(data, Mapping) or "team" not in data:
        return data
    if not isinstance(data["team"], str):
        raise BadRequest(Problem("team", "must be text.", "Give the team's slug."))
    access.demand_own(team, data["team"])
    return {field: value for field, value in data.items() if field != "team"}


def _content(data: object, job: Job) -> Any:
    """What is to be edited: the body without what a job only tells. Such a member may be given
    back as it is, so that a job can be read, changed and sent."""
    if not isinstance(data, Mapping):
        return data
    shown = api_shapes.of_job(job)
    wrong = [
        Problem(field, "cannot be changed by an edit.", "Leave it out.")
        for field in api_shapes.TOLD
        if field in data and data[field] != shown[field] and field != "next_due_at"
    ]
    if wrong:
        raise BadRequest(*wrong)
    content = {field: value for field, value in data.items() if field not in api_shapes.TOLD}
    if content.get("schedule") == shown["schedule"]:
        content["schedule"] = job.schedule
    return content


def _patched(job: Job, changes: Any) -> Any:
    if not isinstance(changes, Mapping):
        return changes
    shown = api_shapes.of_job(job) | {"schedule": job.schedule}
    content = {field: value for field, value in shown.items() if field not in api_shapes.TOLD}
    merged = {
        field: {**content[field], **changes[field]}
        for field in ("retries", "catch_up")
        if isinstance(changes.get(field), Mapping)
    }
    # Who resumes it by hand need not take out what belongs to the pause; so for skips.
    if changes.get("paused") is False:
        content |= {"paused_until": None, "paused_reason": ""}
    if changes.get("skip_next") == 0:
        content |= {"skip_reason": ""}
    return {**content, **changes, **merged}
