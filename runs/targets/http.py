"""Calling a URL."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from standardwebhooks import Webhook

from jobs import traces
from jobs.json_values import json_text
from jobs.schedules.instants import canonical_instant
from jobs.targets.headers import is_secret_header, masked_headers
from jobs.targets.shapes import HttpTarget
from runs import evidence, outcomes
from runs.outcomes import Outcome
from runs.targets import egress, redirects
from runs.targets.prepared import NotSent
from runs.targets.redirects import NotFollowed

USER_AGENT = "Onebeat"
_NO_MOMENT = datetime.min.replace(tzinfo=UTC)  # of what is not signed

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Call:
    """One attempt at an HTTP target, secrets in clear.

    `due_at` is None for a run by hand, `timeout` seconds for the whole call. A Standard
    Webhooks signature is made with `signing_secret`, and with `previous_secret` too while
    secrets are rotated; without either the call goes unsigned. `refusal_codes` as in
    `outcomes.of_answer`. With a `callback` secret the target may answer 202 and report later.
    """

    target: HttpTarget
    key: str
    job_id: str
    run_id: str
    due_at: datetime | None
    attempt: int
    timeout: float
    signing_secret: str = ""
    previous_secret: str = ""
    refusal_codes: Collection[int] = ()
    callback: str = ""
    follow: int = 0  # so many redirects
    test: bool = False  # a person tries the target out: it is told so, and no run is named

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be kept in evidence, though the target send it back."""
        headers = self.target.headers.items()
        named = tuple(value for name, value in headers if is_secret_header(name))
        callback = (self.callback,) if self.callback else ()
        return (*named, *callback, *_signing_secrets(self))


class PreparedRequest:
    """An open line with a request ready to go."""

    def __init__(
        self,
        call: Call,
        open_to: Callable[[str], egress.Line],
        headers: dict[str, str],
        body: bytes | None,
        now: Clock,
    ) -> None:
        self._call = call
        self._open_to = open_to
        self._line = open_to(call.target.url)
        self._cut = False
        self._hops: list[str] = []
        self._headers = headers
        self._body = body
        self._now = now

    @property
    def sent(self) -> dict[str, object]:
        """Method, URL, headers and the beginning of the body, secrets masked."""
        return _shown(self._call, self._headers, self._body)

    def perform(self) -> Outcome:
        """Send the request and say what its answer, or the lack of one, means."""
        try:
            answer, unfollowed = self._sent()
        except NotSent as refused:
            if self._hops:  # what led here was sent
                return outcomes.unknown(refused.reason, answer=self._followed)
            return outcomes.not_sent(refused.reason)
        except egress.Broken as broken:
            return outcomes.unknown(
                broken.reason,
                status=broken.status,
                answer={"phase": broken.phase, "bytes_sent": broken.sent, **self._followed},
            )
        outcome = outcomes.of_answer(
            answer.status,
            answer.headers,
            answer.body_excerpt,
            key=self._call.key,
            now=self._now(),
            refusal_codes=self._call.refusal_codes,
            by_callback=bool(self._call.callback),
            unfollowed=unfollowed,
            truncated=answer.truncated,
            secrets=self._call.secrets,
        )
        return replace(outcome, answer={**outcome.answer, **self._followed})

    def _sent(self) -> tuple[egress.Answer, str]:
        """The last answer of the call and its redirects, and why it is the last if it is one."""
        url, method, headers = self._call.target.url, self._call.target.method, self._headers
        while True:
            with self._line as line:
                answer = line.send(method, headers, self._body)
            if not self._call.follow or not redirects.leads_on(answer.status):
                return answer, ""
            try:
                url, before = self._next(url, answer), line.place
            except (NotFollowed, NotSent) as error:
                return answer, f"its redirect is not followed ({str(error).rstrip('.')})"
            headers = redirects.headers_for(headers, before, self._line.place)

    def _next(self, url: str, answer: egress.Answer) -> str:
        """Where the answer leads, with an open line to there. Raises NotFollowed, NotSent."""
        method = self._call.target.method
        following = redirects.hop(url, answer.status, answer.headers, method=method)
        if len(self._hops) >= self._call.follow:
            raise NotFollowed(f"it is one more than {self._call.follow}")
        self._line = self._open_to(following)
        if self._cut:
            self._line.cut()
        self._hops.append(evidence.redact(evidence.printable(following), self._call.secrets))
        return following

    @property
    def _followed(self) -> dict[str, object]:
        return {"redirects": self._hops} if self._hops else {}

    def stop(self) -> None:
        """Cut the line."""
        self._cut = True
        self._line.cut()

    def close(self) -> None:
        """Hang up with nothing sent."""
        self._line.close()


def unsent(call: Call) -> dict[str, object]:
    """What the call would send, as evidence shows what was sent. Unsigned: a signature is of the
    moment of sending."""
    unsigned = replace(call, signing_secret="", previous_secret="")
    return _shown(call, *_written(unsigned, _NO_MOMENT))


def prepare(
    call: Call,
    *,
    allow: egress.AllowList,
    resolver: egress.Resolver = egress.SYSTEM_RESOLVER,
    ports: Collection[int] | None = None,
    now: Clock = lambda: datetime.now(UTC),
) -> PreparedRequest:
    """Write the request and open the line for it; NotSent when either fails.

    The call's time limit runs from here. `now` stamps the signature, which receivers compare
    with their own clocks, and reads a Retry-After that is a date; nothing is decided by it.
    """
    deadline = time.monotonic() + call.timeout
    headers, body = _written(call, now())

    def open_to(url: str) -> egress.Line:
        return egress.prepare(url, allow=allow, deadline=deadline, resolver=resolver, ports=ports)

    return PreparedRequest(call, open_to, headers, body, now)


def _shown(call: Call, headers: dict[str, str], body: bytes | None) -> dict[str, object]:
    text = (body or b"")[: evidence.KEEP].decode("utf-8", "replace")
    return {
        "method": call.target.method,
        "url": evidence.printable(call.target.url),
        "headers": masked_headers(headers),
        "body": evidence.redact(evidence.printable(text), call.secrets),
    }


def _written(call: Call, now: datetime) -> tuple[dict[str, str], bytes | None]:
    given = dict(call.target.headers)
    names = {name.lower(): name for name in given}
    body = _body(call.target.body, given.get(names.get("content-type", ""), ""))
    ours = {"Content-Type": "application/json"} if body is not None else {}
    ours["User-Agent"] = USER_AGENT
    if call.run_id:
        ours["traceparent"] = traces.parent(call.run_id, call.attempt)
    own = {name: value for name, value in ours.items() if name.lower() not in names}
    return {**own, **given, **_run_headers(call), **_signature(call, body, now)}, body


def _body(body: object, content_type: str) -> bytes | None:
    """The body's JSON, digit for digit; text as it is where the job names a type other than JSON;
    None sends nothing.
    """
    if body is None:
        return None
    if isinstance(body, str) and content_type and "json" not in content_type.lower():
        return body.encode()
    return json_text(body).encode()


def _run_headers(call: Call) -> dict[str, str]:
    named = {"Onebeat-Job": call.job_id, "Onebeat-Run": call.run_id}
    headers = {
        "Idempotency-Key": call.key,
        **{name: value for name, value in named.items() if value},
        "Onebeat-Attempt": str(call.attempt),
    }
    if call.test:
        headers["Onebeat-Test"] = "true"
    if call.due_at is not None:
        headers["Onebeat-Scheduled-For"] = canonical_instant(call.due_at)
    if call.callback:
        headers["Onebeat-Callback"] = call.callback
    return headers


def _signature(call: Call, body: bytes | None, now: datetime) -> dict[str, str]:
    secrets = _signing_secrets(call)
    if not secrets:
        return {}
    text = (body or b"").decode()
    try:
        signatures = [Webhook(secret).sign(call.key, now, text) for secret in secrets]
    except (ValueError, RuntimeError) as error:  # not base64
        raise NotSent("The job's signing secret cannot be used: make a new one.") from error
    return {
        "webhook-id": call.key,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def _signing_secrets(call: Call) -> tuple[str, ...]:
    return tuple(secret for secret in (call.signing_secret, call.previous_secret) if secret)
