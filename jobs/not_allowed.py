"""A page where the answer would be empty: an address of a form, opened as a page. Whoever signs in
again after having sent a form is led there."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string


class NotAllowedPages:
    """The middleware: an empty 405 says what it means. The API's are not empty."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._next(request)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not response.content:
            response.content = render_to_string("405.html").encode()
        return response
