"""What the agent tells on its own address, and the words it takes from operators.

    GET  /healthz   200 while the agent lives and its keeper goes round
    GET  /readyz    200; 503 while it is blind, or a readiness step keeps this machine out of service;
                    ?blind=ok: 200 also while it is blind
    GET  /drainz    200; 503 while this machine is drained: all that comes before an approval is done, not undone
    GET  /events    what there is, what was done about it, and what is waited for; ?all=1: also what is over
    GET  /metrics   for Prometheus
    POST /events/ID/approve, hold, release, reset or retry, with `Authorization: Bearer` and the token in state_dir

/readyz turns at the beginning of draining and /drainz at its end, as in the webdevops manager. Both come from the
journal, so they outlive a restart, and both are back when the event is over.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Union

from forewarn import __version__
from forewarn.agent.case_form import write_case
from forewarn.agent.clock import Clock
from forewarn.agent.http1 import Request, response_bytes
from forewarn.agent.metrics import Metrics, Snapshot, write_page
from forewarn.agent.orders import Order, Refusal, Verb
from forewarn.agent.standing import Standing, phase_of
from forewarn.agent.superseded import profile_of

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_STUCK_AFTER_SECONDS = 30
_WORDS_OF_A_PATH = 3  # events, ID, verb

Say = Callable[[Order], Union[str, Refusal]]


class Desk:
    """Answers requests. For any thread."""

    def __init__(self, standing: Standing, metrics: Metrics, clock: Clock, token: str, say: Say) -> None:
        self._standing = standing
        self._metrics = metrics
        self._clock = clock
        self._token = token
        self._say = say

    def answer(self, request: Request) -> bytes:
        """The answer to a request."""
        pages = {
            "/healthz": self._healthz,
            "/readyz": lambda: self._readyz(request.query),
            "/drainz": self._drainz,
            "/events": lambda: self._events(request.query),
            "/metrics": self._page,
        }
        page = pages.get(request.path)
        if page is not None:
            if request.method not in {"GET", "HEAD"}:
                return _no(405, f"{request.path} is only for GET.")
            answer = page()
            return answer if request.method == "GET" else answer[: answer.index(b"\r\n\r\n") + 4]
        words = request.path.strip("/").split("/")
        if len(words) == _WORDS_OF_A_PATH and words[0] == "events":
            return self._take_order(request, words[1], words[2])
        return _no(404, f"There is no {request.path}. There are: {', '.join(pages)}.")

    def _healthz(self) -> bytes:
        still = self._clock.monotonic() - self._standing.ticked_at
        if still > _STUCK_AFTER_SECONDS:
            return _probe(503, f"the keeper has not gone round for {still:.0f} s")
        if stuck := self._standing.stuck:
            return _probe(503, f"the agent cannot go on with {', '.join(stuck)}: see its log")
        return _probe(200, "ok")

    def _readyz(self, query: str) -> bytes:
        # A balancer that asks so does not lose every machine at once when the endpoint fails for all of them.
        may_be_blind = "blind=ok" in query.split("&")
        if self._standing.is_blind and (trouble := self._standing.trouble) and not may_be_blind:
            return _probe(503, f"blind since {trouble.since:%H:%M:%SZ}: {trouble.message}")
        if events := self._standing.out_of_service_for():
            return _probe(503, f"out of service for {', '.join(events)}")
        return _probe(200, "ok")

    def _drainz(self) -> bytes:
        if events := self._standing.drained_for():
            return _probe(503, f"drained for {', '.join(events)}")
        return _probe(200, "ok")

    def _events(self, query: str) -> bytes:
        standing = self._standing
        cases = standing.cases if "all=1" in query.split("&") else standing.unclosed()
        now = self._clock.now()
        shown = [
            {
                **write_case(case),
                "phase": phase_of(case, profile_of(case)),
                "waiting_for": list(standing.waiting_for.get(case.id, ())),
                "seconds_to_not_before": (case.event.not_before - now).total_seconds()
                if case.event.not_before
                else None,
            }
            for case in cases
        ]
        trouble = standing.trouble
        return _json(
            200,
            {
                "version": __version__,
                "vm": list(standing.names),
                "endpoint": standing.endpoint,
                "api_version": standing.api_version,
                "is_dry_run": standing.is_dry_run,
                "is_blind": standing.is_blind,
                "poll_age_seconds": self._poll_age(),
                "trouble": trouble.message if trouble else None,
                "events": shown,
            },
        )

    def _page(self) -> bytes:
        standing = self._standing
        moment = Snapshot(
            cases=standing.unclosed(),
            now=self._clock.now(),
            incarnation=standing.incarnation,
            poll_age_seconds=self._poll_age(),
            is_blind=standing.is_blind,
        )
        return response_bytes(200, write_page(self._metrics, moment).encode(), _PROMETHEUS)

    def _poll_age(self) -> float | None:
        good_at = self._standing.good_at
        return None if good_at is None else round(self._clock.monotonic() - good_at, 3)

    def _take_order(self, request: Request, event: str, verb: str) -> bytes:
        if verb not in set(Verb):
            return _no(404, f"Nobody can {verb} an event. It can be told to: {', '.join(Verb)}.")
        if request.method != "POST":
            return _no(405, f"{request.path} is only for POST.")
        if not self._is_trusted(request.headers.get("authorization", "")):
            return _no(401, "That needs `Authorization: Bearer` with the token in the agent's state_dir.")
        try:
            said = json.loads(request.body or b"{}")
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            return _no(400, 'The body is a JSON object: {"by": "who", "now": false}.')
        step = said.get("step")
        order = Order(
            Verb(verb),
            _unquoted(event),
            _who(said.get("by")),
            is_urgent=said.get("now") is True,
            step=step if isinstance(step, str) else "",
        )
        answer = self._say(order)
        if isinstance(answer, Refusal):
            return _no(answer.status, answer.message)
        return _json(200, {"message": answer})

    def _is_trusted(self, said: str) -> bool:
        # Loaded for the first order only: it brings OpenSSL, a quarter of an idle agent's memory.
        import hmac  # noqa: PLC0415 - for orders only

        expected = f"Bearer {self._token}"
        return bool(self._token) and hmac.compare_digest(said.encode(), expected.encode())


def _unquoted(event: str) -> str:
    from urllib.parse import unquote  # noqa: PLC0415 - for orders only

    return unquote(event)


def _who(said: object) -> str:
    name = " ".join(said.split())[:80] if isinstance(said, str) else ""
    return name.encode("utf-8", "replace").decode() or "operator"  # JSON may have half a character


def _probe(status: int, words: str) -> bytes:
    return response_bytes(status, f"{words}\n".encode(), _TEXT, {"Cache-Control": "no-store"})


def _json(status: int, said: dict[str, Any]) -> bytes:
    return response_bytes(status, f"{json.dumps(said, ensure_ascii=False)}\n".encode(), _JSON)


def _no(status: int, message: str) -> bytes:
    return _json(status, {"message": message})
