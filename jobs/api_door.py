"""The doors of the API: what every address has in common, and those that lead nowhere."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.urls import reverse
from rest_framework.exceptions import APIException, NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from jobs import asked
from jobs.problems import NOT_FOUND

_WITH_SLASH = "Nothing is here. Addresses of this API end with a slash."


class LengthRequired(APIException):
    """A body without a length would be taken for no body at all."""

    status_code = HTTPStatus.LENGTH_REQUIRED
    default_detail = "Send the body with its Content-Length."


class Door(APIView):
    """One address of the API."""

    metadata_class = None  # OPTIONS would tell strangers what is here

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks, and whether the body can be read at all."""
        super().initial(request, *args, **kwargs)
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            raise LengthRequired


class Index(Door):
    """The root of the API: the lists from which everything else is reached."""

    routes: tuple[tuple[str, str], ...] = ()

    def get(self, request: Request) -> Response:
        """Their addresses by name."""
        asked.parameters(request, ())
        return Response(
            {name: request.build_absolute_uri(reverse(route)) for name, route in self.routes}
        )


class Nowhere(Door):
    """Every address that the API does not have: without it Django would answer in HTML."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Whoever may ask at all learns that nothing is here, whatever the method."""
        super().initial(request, *args, **kwargs)
        raise NotFound(NOT_FOUND if request.path.endswith("/") else _WITH_SLASH)
