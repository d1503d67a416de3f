from __future__ import annotations

from jobs.models.asked import Asked
from jobs.models.audit_event import AuditEvent
from jobs.models.calendar import Calendar, CalendarVersion
from jobs.models.due import Due
from jobs.models.hold import Hold
from jobs.models.job import Job, JobVersion
from jobs.models.maintenance_window import MaintenanceWindow
from jobs.models.preference import Preference
from jobs.models.team import Membership, Team, Token
from jobs.models.user import User

__all__ = [
    "Asked",
    "AuditEvent",
    "Calendar",
    "CalendarVersion",
    "Due",
    "Hold",
    "Job",
    "JobVersion",
    "MaintenanceWindow",
    "Membership",
    "Preference",
    "Team",
    "Token",
    "User",
]
