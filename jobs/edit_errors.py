"""Why an edit of a job is not done."""

from __future__ import annotations

from jobs.models import Job


class NameTaken(Exception):
    """Another job of the team has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The team has a job named “{name}” already. Choose another name.")


class Gone(Exception):
    """The job was deleted meanwhile."""


class Changed(Exception):
    """Somebody else has edited the job since it was read; `version` is the one it has now."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"The job was edited meanwhile (it is at version {version}). Look at it again, then "
            "save once more."
        )
        self.version = version


class ReadOnly(Exception):
    """The job mirrors a PeriodicTask row, which the platform's staff edit in the admin."""

    def __init__(self) -> None:
        super().__init__("This job mirrors a PeriodicTask row; edit that row in the admin.")


class NothingDue(Exception):
    """There is no next moment that could be skipped."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            "The job is paused: no moment is due. Resume it first."
            if job.paused
            else "The job has no moment to come that could be skipped."
        )
