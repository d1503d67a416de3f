"""Which runs a list shows: the same parameters for the page, the API, exports and saved views."""

from __future__ import annotations

from runs.dashboard.finding import filters
from runs.dashboard.finding.wanted import Wanted
from runs.states import ACTIVE, FINAL, UNDER_WAY, Origin, State
from runs.templatetags.states import WORDS

NOT_STARTED = UNDER_WAY - {State.RUNNING, State.RETRYING}
GROUPS = {"in_flight": UNDER_WAY, "not_started": NOT_STARTED, "active": ACTIVE, "finished": FINAL}
_GROUP_WORDS = (
    ("in_flight", "In flight"),
    ("not_started", "Not started yet"),
    ("active", "Active"),
    ("finished", "Finished"),
)
_ORIGINS = ((Origin.SCHEDULE, "Schedule"), (Origin.HAND, "By hand"), (Origin.BACKFILL, "Backfill"))


class RunFilter(filters.SpanFilter):
    """Runs by state (or a group of states), the name, team, tags (all that are named) and owner
    of their job, what asked for them, the time of their moment (of a run by hand that has none:
    when it was asked for), one job, one backfill, the failures like which they died last."""

    q = filters.text("Job")
    state = filters.several(
        "State",
        "Every state",
        [*_GROUP_WORDS, *((str(state), word) for state, word in WORDS.items())],
    )
    origin = filters.several("Asked for by", "Anything", [(str(one), say) for one, say in _ORIGINS])
    tag = filters.TagsField("Tags of its job")
    owner = filters.text("Owner of its job")
    since = filters.InstantField("Due since")
    until = filters.InstantField("Due until")
    job = filters.identifier("Job’s id")
    backfill = filters.identifier("Backfill")
    group = filters.identifier("Died like")

    field_order = (
        *("q", "state", "team", "origin", "tag", "owner", "since", "until"),
        *("job", "backfill", "group"),
    )

    @property
    def wanted(self) -> Wanted:
        """What a valid filter asks for."""
        said = self.cleaned_data
        states = (GROUPS.get(one, frozenset({one})) for one in said["state"])
        return Wanted(
            name=said["q"],
            owner=said["owner"],
            tags=tuple(said["tag"]),
            team=said["team"],
            states=frozenset(State(state) for group in states for state in group),
            origins=frozenset(Origin(one) for one in said["origin"]),
            since=said["since"],
            until=said["until"],
            job=said["job"],
            backfill=said["backfill"],
            group=said["group"],
        )
