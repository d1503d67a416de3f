"""The pages of review: the queue, one of it beside the others, and what a person does there."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from jobs import reader
from jobs.models import Team
from jobs.page_door import demand, page, person
from jobs.roles import Act
from runs.dashboard.finding import refused
from runs.dashboard.live import polling
from runs.decisions import NoteMissing, Stale
from runs.forms import NoteForm
from runs.models import Approval, Run
from runs.page_door import listed, run_for
from runs.review import approvals, bulk, claims, deciding, forms, probe, run_again
from runs.review import shown as review_shown
from runs.review.forms import DecisionForm, ManyForm
from runs.states import State
from runs.templatetags.told import link_to
from runs.views import review_context, run_page

_DONE = {
    "happened": "Decided, and recorded with your name. Marked done:",
    "run_again": "Decided, and recorded with your name. It runs again:",
    "close": "Decided, and recorded with your name. Closed:",
    "escalate": "Passed on, and recorded with your name. Still in review:",
}
_REFUSALS = (
    claims.Claimed,
    run_again.NotYetSettled,
    run_again.Happened,
    approvals.AskedAlready,
    approvals.Over,
    approvals.NotYours,
)


@page
@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """What waits for this person's teams, the most overdue first."""
    if moved := review_shown.present_address(request):
        return redirect(moved)
    together = review_shown.together(request, review_shown.asked(request)).count()
    shown = review_shown.Queue(request).region
    wrong = refused.of(request, shown["filter"])
    return render(request, "runs/review.html", {**shown, "together": together, "refused": wrong})


@polling.poll
@require_GET
def queue_live(request: HttpRequest) -> HttpResponse:
    """The part of that page that changes."""
    queue = review_shown.Queue(request)
    return polling.answer_with(request, "runs/_review_rows.html", queue.tag, lambda: queue.region)


@page
@require_GET
def item(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """One that waits, with all that is known of it, beside the others."""
    run = run_for(request, run_id)
    if run.state != State.REVIEW:
        return redirect("run", run.id)
    return item_page(request, run)


def item_page(
    request: HttpRequest, run: Run, form: DecisionForm | None = None, status: int = 200
) -> HttpResponse:
    """That page; `form` shows what was wrong with the decision just sent."""
    context = {
        **review_context(request, run, form),
        "news": review_shown.news(request, run, beside=True),
        "others": review_shown.others(request, run),
        "query": review_shown.query(request),
        "beside": True,
        "stands_at": "review-item",  # also where its form comes back
    }
    return render(request, "runs/review_item.html", context, status=status)


@polling.poll
@require_GET
def item_news(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """What has become of one while its page stands open: who has it, who was faster."""
    beside = request.GET.get("beside") == "1"
    news = review_shown.news(request, run_for(request, run_id), beside=beside)
    return polling.answer(request, "runs/_review_news.html", {**news, "news": news})


@polling.poll
@require_GET
def item_others(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """What waits beside it, as it is by now."""
    others = review_shown.others(request, run_for(request, run_id))
    return polling.answer(request, "runs/_review_others.html", {**others, "others": others})


@page
@require_POST
def decide(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Decide about a run in review."""
    run = run_for(request, run_id, Act.OPERATE)
    form = DecisionForm(request.POST, run=run)
    in_queue = request.POST.get("from") == "review"
    shown = item_page if in_queue and run.state == State.REVIEW else run_page
    if run.state == State.REVIEW and not form.is_valid():
        return shown(request, run, form, status=422)
    try:
        _decided(request, run, form)
    except NoteMissing as missing:
        form.add_error("note", str(missing))
        return shown(request, run, form, status=422)
    return _back(request, run)


def _decided(request: HttpRequest, run: Run, form: DecisionForm) -> None:
    with_token = form.is_valid()
    if not with_token:  # it left review meanwhile, whatever the form says
        messages.error(request, f"{Stale(run)} Yours was not recorded.")
        return
    token, note = form.said
    try:
        deciding.decide(
            run.id,
            form.choice,
            token=token,
            note=note,
            by=person(request),
            new_key=form.wants_new_key,
        )
    except approvals.Asked as asked:
        _say(request, f"Asked, and recorded with your name. {asked}", run)
    except Stale as stale:
        messages.error(request, f"{stale} Yours was not recorded.")
    except _REFUSALS as refusal:
        messages.error(request, f"{refusal} Nothing was decided.")
    else:
        _say(request, _DONE[form.choice], run)


@page
@require_POST
def take(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Take one for a while."""
    run = run_for(request, run_id, Act.OPERATE)
    said = "It is yours for a quarter of an hour. Give it back when you do not decide."
    return _done(request, run, lambda: claims.take(run.id, by=person(request)), said)


@page
@require_POST
def release(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Give it back."""
    run = run_for(request, run_id, Act.OPERATE)
    said = "Given back: anybody may take it."
    return _done(request, run, lambda: claims.release(run.id, by=person(request)), said)


@page
@require_POST
def ask_probe(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Ask the job's probe now."""
    run = run_for(request, run_id, Act.OPERATE)
    told = probe.ask(run, by=person(request))
    if told is None:
        messages.error(request, "This job names no probe. Nobody was asked.")
    else:
        messages.success(request, f"The probe says: {probe.WORDS[told.answer]} {told.detail}")
    return _back(request, run)


@page
@require_POST
def answer(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Approve, refuse or take back what waits for a second person."""
    teams = Team.objects.where(person(request).id, Act.READ)
    approval = get_object_or_404(Approval, id=approval_id, team__in=teams)
    demand(request, approval.team_id, Act.OPERATE)
    run = run_for(request, approval.run_id, Act.OPERATE)
    form, by = NoteForm(request.POST), person(request)
    if not form.is_valid():
        messages.error(request, f"{' '.join(map(str, form['note'].errors))} Nothing was done.")
        return _back(request, run)
    note = form.cleaned_data["note"]
    match request.POST.get("answer"):
        case "approve":
            said = "Approved, and recorded with both your names. It runs again."
            return _done(
                request, run, lambda: approvals.approve(approval.id, note=note, by=by), said
            )
        case "refuse":
            said = "Refused. It stays in review."
            return _done(
                request, run, lambda: approvals.refuse(approval.id, note=note, by=by), said
            )
        case _:
            said = "Taken back. It stays in review."
            return _done(request, run, lambda: approvals.withdraw(approval.id, by=by), said)


@page
@require_http_methods(["GET", "POST"])
def many(request: HttpRequest) -> HttpResponse:
    """The same decision about many of which nothing was sent: tick, say why, see what came of
    each."""
    runs = list(review_shown.together(request, review_shown.asked(request)))
    form = ManyForm(
        request.POST or None, runs=runs, initial={"runs": [str(one.id) for one in runs]}
    )
    if request.method == "GET" or not form.is_valid():
        context = {
            "runs": runs,
            "form": form,
            "most": bulk.MOST,
            "typed_above": forms.TYPED_ABOVE,
        }
        status = 200 if request.method == "GET" else 422
        return render(request, "runs/review_many.html", context, status=status)
    said = form.cleaned_data
    results = bulk.decide(said["runs"], said["decision"], note=said["note"], by=person(request))
    by_id = {run.id: run for run in listed(request).filter(id__in=said["runs"])}
    context = {
        "results": [(by_id[result.run_id], result) for result in results],
        "decided": sum(result.decided for result in results),
    }
    return render(request, "runs/review_many_done.html", context)


def _done(request: HttpRequest, run: Run, act: Callable[[], object], said: str) -> HttpResponse:
    try:
        act()
    except Stale as stale:
        messages.error(request, f"{stale} Nothing was done.")
    except NoteMissing as missing:
        messages.error(request, f"{missing} Nothing was done.")
    except _REFUSALS as refusal:
        messages.error(request, f"{refusal} Nothing was done.")
    else:
        _say(request, said, run)
    return _back(request, run)


def _say(request: HttpRequest, done: str, run: Run) -> None:
    """What was done, and to which run: the queue that is shown next does not hold it any more."""
    messages.success(request, format_html("{} {}", done, link_to(run, reader.zone_of(request))))


def _back(request: HttpRequest, run: Run) -> HttpResponse:
    """To where the person came from: the queue while it waits there, else the run."""
    in_queue = request.POST.get("from") == "review"
    if not in_queue:
        return redirect("run", run.id)
    still = Run.objects.filter(id=run.id, state=State.REVIEW).exists()
    back = reverse("review-item", args=[run.id]) if still else reverse("review")
    return redirect(back + review_shown.query(request))
