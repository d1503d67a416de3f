"""The pages of dead letters: the groups, one group, replay or discard what was chosen of it, and
how far a replay has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs import editing, paging
from jobs.models import Team
from jobs.page_door import acts, demand, page, person
from jobs.problems import BadRequest
from jobs.roles import Act
from runs.dashboard.finding import refused
from runs.dashboard.finding.refused import Refused
from runs.dashboard.live import polling
from runs.letters import batch
from runs.letters import groups as dead_letters
from runs.letters.forms import ChosenForm, DiscardForm, LetterFilter, ReplayForm
from runs.letters.groups import ORDER, Differs, Group, Preview
from runs.markers import kept
from runs.models import Replay
from runs.models.replay import NOT_OVER, Going, Result
from runs.page_door import address, listed, runs_of
from runs.states import UNDER_WAY, State

SIZE = 50  # rows of a page
_PLACE = "dead letters"  # of the cursors: the page and its part that keeps itself up to date
_EARLIER = 10  # replays of a group


@page
@require_GET
def all_groups(request: HttpRequest) -> HttpResponse:
    """The dead letters of this person's teams by group, what died last first."""
    waiting = Replay.objects.where(person(request).id).filter(state=Going.ASKED)
    shown = _groups(request)
    wrong = refused.of(request, shown["filter"], wrong=shown["lost"])
    context = {**shown, "waiting": waiting.order_by("id")[:_EARLIER], "refused": wrong}
    return render(request, "runs/dead_letters.html", context)


@polling.poll
@require_GET
def groups_live(request: HttpRequest) -> HttpResponse:
    """The part of that page that changes."""
    return polling.answer(request, "runs/_dead_letters.html", _groups(request))


@page
@require_GET
def one_group(request: HttpRequest, group_id: UUID) -> HttpResponse:
    """One group: its dead runs, the oldest first, and what may be done with them."""
    shown = _group(request, group_id)
    replays = Replay.objects.filter(error_group=group_id).select_related("by")
    group: Group = shown["group"]
    near = kept.before(group.job, group.first_at) if group.first_at else []
    wrong = _not_understood(request, lost=shown["after"] is None)
    context = {**shown, "earlier": replays[:_EARLIER], "near": near, "refused": wrong}
    return render(request, "runs/dead_group.html", context)


@polling.poll
@require_GET
def group_live(request: HttpRequest, group_id: UUID) -> HttpResponse:
    """The part of that page that changes: its runs."""
    return polling.answer(request, "runs/_dead_group.html", _group(request, group_id))


@page
@require_http_methods(["GET", "POST"])
def replay_group(request: HttpRequest, group_id: UUID) -> HttpResponse:
    """What a replay of the group, or of the ticked runs, would do; POST begins it."""
    group = _group_for(request, group_id, Act.OPERATE)
    if request.method == "GET":
        return _look(request, group, "runs/dead_replay.html", ReplayForm)
    form = ReplayForm(group.id, request.POST)
    if not form.is_valid():
        return _again(request, group, "runs/dead_replay.html", form)
    try:
        found = batch.begin(
            form.choice,
            by=person(request),
            note=form.cleaned_data["note"],
            per_minute=form.cleaned_data["per_minute"],
            try_first=form.cleaned_data["try_first"],
        )
    except (Differs, batch.NothingDead) as changed:
        messages.error(request, str(changed))
        return redirect("dead-group", group.id)
    except batch.AlreadyOpen as there:
        messages.error(request, f"Nothing was begun. {there}")
        return redirect("replay", there.replay.id)
    except editing.Gone:
        messages.error(request, f"Somebody deleted {group.job.name}. Nothing was begun.")
        return redirect("dead-group", group.id)
    waits = found.state == Going.ASKED
    messages.success(request, _ASKED if waits else "The replay has begun.")
    return redirect("replay", found.id)


_ASKED = "It waits for a second person. Nothing goes before somebody approves it."


@page
@require_http_methods(["GET", "POST"])
def discard_group(request: HttpRequest, group_id: UUID) -> HttpResponse:
    """What a discard of the group, or of the ticked runs, means; POST does it."""
    group = _group_for(request, group_id, Act.OPERATE)
    if request.method == "GET":
        return _look(request, group, "runs/dead_discard.html", DiscardForm)
    form = DiscardForm(group.id, request.POST)
    if not form.is_valid():
        return _again(request, group, "runs/dead_discard.html", form)
    note = form.cleaned_data["note"]
    try:
        done = dead_letters.discard(form.choice, note=note, by=person(request))
    except Differs as changed:
        messages.error(request, str(changed))
        return redirect("dead-group", group.id)
    passed = f" {done.passed_over} had been moved meanwhile." if done.passed_over else ""
    said = f"{done.discarded} discarded, and recorded with your name.{passed}"
    closed = f"{reverse('runs')}?group={group.id}&state={State.CLOSED}"
    messages.success(request, format_html('{} <a href="{}">Look at them</a>', said, closed))
    return redirect("dead-group", group.id)


@page
@require_GET
def one_replay(request: HttpRequest, replay_id: UUID) -> HttpResponse:
    """One replay: how far it has come, and what became of each run."""
    found = _replay_for(request, replay_id)
    shown = _progress(request, found)
    wrong = _not_understood(request, lost=not shown["after"])
    return render(request, "runs/replay.html", {**shown, "refused": wrong})


@polling.poll
@require_GET
def replay_progress(request: HttpRequest, replay_id: UUID) -> HttpResponse:
    """The part of that page that changes."""
    found = _replay_for(request, replay_id)
    return polling.answer(request, "runs/_replay.html", _progress(request, found))


@page
@require_POST
def replay_steer(
    request: HttpRequest, replay_id: UUID, steer: Callable[..., Replay], done: str
) -> HttpResponse:
    """Approve, pause, resume or cancel a replay."""
    found = _replay_for(request, replay_id, Act.OPERATE)
    try:
        steer(found.id, by=person(request))
    except (batch.Over, batch.NotYours, batch.NotApproved) as against:
        messages.error(request, str(against))
    else:
        messages.success(request, done)
    return redirect("replay", found.id)


def _groups(request: HttpRequest) -> dict[str, Any]:
    teams = list(Team.objects.where(person(request).id, Act.READ).values_list("slug", flat=True))
    asked = LetterFilter(request.GET, teams=teams)
    found = dead_letters.groups(asked.applied(runs_of(request).select_related(None)))
    found, lost = _after(found, request.GET.get("after", ""))
    rows = list(found.order_by(*ORDER)[: SIZE + 1])
    behind = paging.cursor(rows[SIZE - 1], ORDER, _PLACE) if len(rows) > SIZE else None
    groups = _with_replay(dead_letters.told(rows[:SIZE]))
    more = address(request, after=behind) if behind else None
    context = {"filter": asked, "groups": groups, "more": more, "lost": lost}
    seen = [_seen(*line) for line in groups], more is None  # a cursor is another one each second
    return polling.region(request, "dead-letters-live", context, seen=seen)


def _seen(group: Group, replay: Replay | None) -> list[Any]:
    """What a line of the list says; an edit of the job makes a version."""
    job, goes_on = group.job, replay and (replay.id, replay.state, replay.left)
    numbers = (group.count, group.first_at, group.last_at, group.oldest_due_at, group.succeeded_at)
    return [group.id, group.reason, *numbers, job.version, job.deleted_at, job.team.slug, goes_on]


def _group(request: HttpRequest, group_id: UUID) -> dict[str, Any]:
    group = _group_for(request, group_id)
    rows = listed(request).filter(error_group=group.id, state=State.DEAD).order_by("id")
    after = _uuid(request.GET.get("after", ""))
    found = list((rows.filter(id__gt=after) if after else rows)[: SIZE + 1])
    context = {
        "group": group,
        "job": group.job,
        "runs": found[:SIZE],
        "more": address(request, after=found[SIZE - 1].id) if len(found) > SIZE else None,
        "after": after,
        "open": Replay.objects.filter(error_group=group.id, state__in=NOT_OVER).first(),
        "may_act": Act.OPERATE in acts(request, group.job.team_id),
    }
    seen = [context[name] for name in ("runs", "more", "may_act")], context["open"] is None
    return polling.region(request, "dead-group-live", context, seen=seen, group_id=group_id)


def _look(
    request: HttpRequest, group: Group, template: str, kind: type[ChosenForm]
) -> HttpResponse:
    """The page that says what will be done, for the runs as they are now."""
    ticked = [_uuid(text) for text in request.GET.getlist("run")[:SIZE]]
    if "ticked" in request.GET and not any(ticked):
        messages.error(request, "Tick the runs that you mean. Nothing was done.")
        return redirect("dead-group", group.id)
    seen = dead_letters.look(dead_letters.choose(group.id, filter(None, ticked)))
    form = kind(group.id, seen=seen)
    return _chosen_page(request, group, template, form, seen)


def _again(request: HttpRequest, group: Group, template: str, form: ChosenForm) -> HttpResponse:
    """That page with what was wrong; where it is not clear what was meant, the group."""
    if not form.says_which:
        messages.error(request, "It is not clear which runs are meant. Nothing was done.")
        return redirect("dead-group", group.id)
    seen = dead_letters.look(form.choice)
    return _chosen_page(request, group, template, form, seen, status=422)


def _chosen_page(
    request: HttpRequest,
    group: Group,
    template: str,
    form: ChosenForm,
    seen: Preview,
    status: int = 200,
) -> HttpResponse:
    context = {
        "group": group,
        "job": group.job,
        "form": form,
        "seen": seen,
        "open": Replay.objects.filter(error_group=group.id, state__in=NOT_OVER).first(),
        "two": batch.wants_second(group.job, seen.count),
    }
    return render(request, template, context, status=status)


def _group_for(request: HttpRequest, group_id: UUID, act: Act = Act.READ) -> Group:
    """The group, for this. Another team's is 404; without leave, 403."""
    found = dead_letters.group(runs_of(request), group_id)
    if found is None:
        raise Http404
    demand(request, found.job.team_id, act)
    return found


def _replay_for(request: HttpRequest, replay_id: UUID, act: Act = Act.READ) -> Replay:
    found = get_object_or_404(Replay.objects.where(person(request).id), id=replay_id)
    demand(request, found.job.team_id, act)
    return found


def _progress(request: HttpRequest, found: Replay) -> dict[str, Any]:
    counts = batch.counts(found)
    place = request.GET.get("after", "")
    after = int(place) if place.isascii() and place.isdecimal() and len(place) < 9 else 0
    rows = found.items.filter(place__gt=after).select_related("run").defer("run__snapshot")
    items = list(rows.order_by("place")[: SIZE + 1])
    under_way = sum(counts.get(state, 0) for state in UNDER_WAY)
    context = {
        "replay": found,
        "job": found.job,
        "acts": acts(request, found.job.team_id),
        "counts": [(state, counts[state]) for state in State if state in counts],
        "dealt_with": found.replayed + found.passed - under_way,
        "every": 2 if not found.is_over or under_way else 0,
        "items": items[:SIZE],
        "more": items[SIZE - 1].place if len(items) > SIZE else None,
        "after": after,
        "passed": Result.PASSED,
    }
    seen = [context[name] for name in ("replay", "counts", "items", "more")]
    return polling.region(request, "replay-progress", context, seen=seen, replay_id=found.id)


def _with_replay(groups: list[Group]) -> list[tuple[Group, Replay | None]]:
    """Each with the replay of it that is not over."""
    rows = Replay.objects.filter(error_group__in=[one.id for one in groups], state__in=NOT_OVER)
    there = {replay.error_group: replay for replay in rows}
    return [(one, there.get(one.id)) for one in groups]


def _after(rows: Any, behind: str) -> tuple[Any, dict[str, str]]:
    """The groups behind a cursor; all where it is none of this list's, which is said then."""
    try:
        return (paging.after(rows, ORDER, _PLACE, behind) if behind else rows), {}
    except BadRequest:
        return rows, {"after": refused.LOST}


def _not_understood(request: HttpRequest, *, lost: bool) -> list[Refused]:
    """What of the address of a page that goes on at `?after=` was not; `lost`: not even that."""
    wrong = {"after": refused.LOST} if lost and request.GET.get("after") else {}
    return refused.of(request, beside=("after",), wrong=wrong)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
