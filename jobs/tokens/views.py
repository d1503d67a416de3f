"""The page of API tokens: one's own, those of the teams that one administers, and a form."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs import clock
from jobs.models import Team, Token
from jobs.page_door import demand, page, person
from jobs.reading import hidden
from jobs.roles import Act
from jobs.team_form import TeamForm
from jobs.tokens import tokens

_LASTS = (("30", "30 days"), ("90", "90 days"), ("365", "A year"), ("", "Until it is revoked"))


class TokenForm(TeamForm):
    """A token for oneself: in which team, what it is for, how long it lasts."""

    team_words: ClassVar = {"invalid_choice": "%(value)s is no team that you administer."}
    name = forms.CharField(
        label="What is it for?",
        max_length=120,
        help_text="As deploy pipeline, so that everybody knows what stops when it is revoked.",
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
        error_messages={"required": "Say what it is for. Nothing was made."},
    )
    lasts = forms.ChoiceField(
        label="How long does it last?",
        choices=_LASTS,
        required=False,
        initial="90",
        widget=forms.Select(attrs={"class": "input"}),
    )

    def clean_name(self) -> str:
        """Refused where it holds what nobody sees."""
        name: str = self.cleaned_data["name"]
        if bad := hidden(name):
            raise forms.ValidationError(f"It holds the character U+{ord(bad):04X}. Take it out.")
        return name

    @property
    def expires_at(self) -> datetime | None:
        """When the token of a valid form ends; None: when somebody revokes it."""
        days = self.cleaned_data["lasts"]
        return clock.now() + timedelta(days=int(days)) if days else None


@page
@require_http_methods(["GET", "POST"])
def all_tokens(request: HttpRequest) -> HttpResponse:
    """The tokens that this person may revoke; POST makes one for themselves, and its answer is
    the only one that shows it."""
    teams = list(Team.objects.where(person(request).id, Act.ADMINISTER))
    if request.method == "GET":
        return _tokens_page(request, TokenForm(teams=teams))
    if not teams:
        raise PermissionDenied
    form = TokenForm(request.POST, teams=teams)
    if not form.is_valid():
        return _tokens_page(request, form, status=422)
    me, name = person(request), form.cleaned_data["name"]
    token, secret = tokens.issue(form.chosen, me, name, form.expires_at, by=me)
    blank = TokenForm(teams=teams)
    return _tokens_page(request, blank, issued=token, secret=secret, status=201)


@page
@require_POST
def revoke(request: HttpRequest, token_id: UUID) -> HttpResponse:
    """Revoke one's own, or one of a team that one administers."""
    mine = Team.objects.where(person(request).id, Act.READ)
    token = get_object_or_404(Token, id=token_id, team__in=mine)
    if token.user_id != person(request).pk:
        demand(request, token.team_id, Act.ADMINISTER)
    if tokens.revoke(token.id, by=person(request)):
        messages.success(request, f"{token} is revoked: it opens nothing any more.")
    else:
        messages.error(request, f"{token} was revoked before.")
    return redirect("tokens")


def _tokens_page(
    request: HttpRequest, form: TokenForm, *, status: int = 200, **more: object
) -> HttpResponse:
    context = {"form": form, "tokens": tokens.revocable(person(request)), "now": clock.now()}
    return render(request, "jobs/tokens.html", {**context, **more}, status=status)
