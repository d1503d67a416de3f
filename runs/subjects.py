"""What acts are about, as the record of who did what names it (jobs/events.py)."""

from __future__ import annotations

from jobs.events import Subject
from jobs.models import Job
from jobs.schedules.instants import canonical_instant
from runs.models import Backfill, Badge, Channel, Marker, Replay, Run, SavedView, Trial


def of_run(run: Run, job: Job | None = None) -> Subject:
    """A run, named by its job and its moment; `job` where the run has not read its own."""
    job = job or run.job
    at = run.due_at or run.created_at
    name = f"{job.name}, {canonical_instant(at)}"
    return Subject("run", run.id, name, job.team_id, job_id=job.id, run_id=run.id)


def of_channel(channel: Channel) -> Subject:
    """A channel of a team, or of the platform's staff."""
    return Subject("channel", channel.id, channel.name, channel.team_id)


def of_badge(badge: Badge) -> Subject:
    """A badge, by the name that it shows; never by its key."""
    return Subject("badge", badge.id, badge.label, badge.team_id, job_id=badge.job_id)


def of_backfill(backfill: Backfill, job: Job) -> Subject:
    """A backfill, named by its job and its range."""
    name = f"{job.name}, {canonical_instant(backfill.since)} to {canonical_instant(backfill.until)}"
    return Subject("backfill", backfill.id, name, job.team_id, job_id=job.id)


def of_replay(replay: Replay, job: Job) -> Subject:
    """A replay of many, named by its job and what its runs died of."""
    return Subject("replay", replay.id, f"{job.name}: {replay.said}", job.team_id, job_id=job.id)


def of_view(view: SavedView) -> Subject:
    """A saved view: the team's, or its owner's."""
    return Subject("view", view.id, view.name, view.team_id)


def of_trial(trial: Trial) -> Subject:
    """A test request, named by the job whose target it calls."""
    return Subject("trial", trial.id, trial.job_name, trial.team_id, job_id=trial.job_id)


def of_marker(marker: Marker) -> Subject:
    """A marker of a team, named by what it says."""
    return Subject("marker", marker.id, marker.text, marker.team_id)
