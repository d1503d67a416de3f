"""The page of who is in one's teams; their admins add members, change roles and take people out."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs import membership
from jobs.membership import Refused
from jobs.models import Membership, Team
from jobs.page_door import demand, page, person
from jobs.roles import MEANS, Act, Role
from jobs.team_form import TeamForm

_ROLES = [(role.value, f"{role.value.capitalize()}: {MEANS[role]}") for role in Role]


class MemberForm(TeamForm):
    """Who is added to which team, and as what."""

    team_words: ClassVar = {"invalid_choice": "%(value)s is no team that you administer."}
    username = forms.CharField(
        label="Who",
        max_length=150,
        help_text="The name with which the person signs in.",
        widget=forms.TextInput(
            attrs={"class": "input", "autocomplete": "off", "autocapitalize": "none"}
        ),
        error_messages={"required": "Say who. Nobody was added."},
    )
    role = forms.ChoiceField(
        label="Role",
        choices=_ROLES,
        help_text="Each may do what those before it may.",
        widget=forms.Select(attrs={"class": "input"}),
        error_messages={"required": "Choose a role. Nobody was added."},
    )
    field_order = ("team", "username", "role")


@page
@require_http_methods(["GET", "POST"])
def all_members(request: HttpRequest) -> HttpResponse:
    """The members of this person's teams; POST adds one."""
    teams = list(Team.objects.where(person(request).id, Act.ADMINISTER))
    if request.method == "GET":
        return _members_page(request, MemberForm(teams=teams))
    if not teams:
        raise PermissionDenied
    form = MemberForm(request.POST, teams=teams)
    if not form.is_valid():
        return _members_page(request, form, status=422)
    said = form.cleaned_data
    try:
        membership.add(form.chosen, said["username"], Role(said["role"]), by=person(request))
    except Refused as refused:
        form.add_error(refused.field, str(refused))
        return _members_page(request, form, status=422)
    done = f"{said['username']} is in {form.chosen.name} from now on, as {said['role']}."
    messages.success(request, done)
    return redirect("members")


@page
@require_POST
def change(request: HttpRequest, member_id: int) -> HttpResponse:
    """Give a member another role."""
    member = _administered(request, member_id)
    role = next((role for role in Role if role == request.POST.get("role")), None)
    if role is None:
        messages.error(request, "Choose a role from the list. Nothing was changed.")
        return redirect("members")
    try:
        membership.change(member, role, by=person(request))
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        name = member.user.get_username()
        messages.success(request, f"{name} is {role} of {member.team.name} from now on.")
    return redirect("members")


@page
@require_POST
def remove(request: HttpRequest, member_id: int) -> HttpResponse:
    """Take a member out of a team."""
    member = _administered(request, member_id)
    try:
        membership.remove(member, by=person(request))
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        name = member.user.get_username()
        messages.success(request, f"{name} is out of {member.team.name}, and sees nothing of it.")
    return redirect("members")


def _administered(request: HttpRequest, member_id: int) -> Membership:
    mine = Team.objects.where(person(request).id, Act.READ)
    rows = Membership.objects.select_related("team", "user").filter(team__in=mine)
    member = get_object_or_404(rows, pk=member_id)
    demand(request, member.team_id, Act.ADMINISTER)
    return member


def _members_page(request: HttpRequest, form: MemberForm, status: int = 200) -> HttpResponse:
    teams = list(Team.objects.where(person(request).id, Act.READ))
    context: dict[str, Any] = {
        "form": form,
        "teams": [(team, team.slug in form.teams, membership.of(team)) for team in teams],
        "roles": _ROLES,
        "means": MEANS.items(),
    }
    return render(request, "jobs/members.html", context, status=status)
