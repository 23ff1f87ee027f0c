"""Planted bugs: each breaks one law, and that law has to say so. A law that never fires proves nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from forewarn.agent import absence, course, metadata, watching
from forewarn.agent.events import Document, Unreadable, read_document
from forewarn.agent.http1 import Response
from forewarn.agent.metadata import Answer, EndpointError, Metadata
from forewarn.agent.scene import Scene


@dataclass(frozen=True)
class Planted:
    """A bug, and the words of the law that catches it."""

    name: str
    law: str
    mutation: Callable[[], AbstractContextManager[object]] = nullcontext
    settings: dict[str, Any] = field(default_factory=dict)
    seed: int = 0  # one in which it shows
    seconds: float = 600  # within so much of the hour


def _takes_500_for_no_events() -> AbstractContextManager[object]:
    def answer(site: Any, response: Response, *, was_conditional: bool) -> Answer:
        if response.status == 500:
            return Answer(Document(()), None, endpoint=site.root.text)
        return real(site, response, was_conditional=was_conditional)

    real = metadata._answer
    return patch.object(metadata, "_answer", answer)


def _takes_null_for_no_events() -> AbstractContextManager[object]:
    def read(body: bytes) -> Document:
        try:
            return read_document(body)
        except Unreadable:
            return Document(())

    return patch.object(metadata, "read_document", read)


def _dies_of_a_closed_socket() -> AbstractContextManager[object]:
    def get(self: Metadata, wait_seconds: float = 0, **other: Any) -> Answer:
        try:
            return real(self, wait_seconds, **other)
        except EndpointError as problem:
            if problem.kind == "unreachable":
                raise SystemExit from problem
            raise

    real = Metadata.get
    return patch.object(Metadata, "get", get)


def _forgets_that_it_was_approved() -> AbstractContextManager[object]:
    def in_time(scene: Any) -> course.Plan:
        return course.Plan((course.Approve("agent"),))

    def consent(scene: Any, preparation: Any, ready: Any) -> course.Plan:
        is_ripe = scene.case.is_mine and preparation is course.State.SUCCESS and scene.case.event.is_scheduled
        is_ripe = is_ripe and scene.profile.approval is not course.Approval.NEVER
        return in_time(scene) if is_ripe and len(scene.case.event.resources) == 1 else course.Plan()

    return patch.object(course, "_consent", consent)


PLANTED = (
    Planted(
        "takes 500 for no events", "nothing ends before its time", _takes_500_for_no_events, seed=2, seconds=1200
    ),
    Planted("takes null for no events", "nothing ends before its time", _takes_null_for_no_events, seconds=1200),
    Planted(
        "takes one list without an event for its end",
        "nothing ends before its time",
        lambda: patch.multiple(absence, _ANSWERS=1, _ANSWERS_ONCE_STARTED=1),
    ),
    Planted(
        "takes an event that has started for gone as soon as any other",
        "nothing ends before its time",
        lambda: patch.object(absence, "_ANSWERS_ONCE_STARTED", 2),
        seconds=1800,
    ),
    Planted(
        "approves although preparation failed",
        "no false approval",
        lambda: patch.object(course, "_goes_unprepared", lambda *_: True),
    ),
    Planted(
        "approves by an old answer",
        "no false approval",
        lambda: patch.object(Scene, "was_seen_within", lambda *_: True),
        seed=1,
    ),
    Planted("approves again and again", "no false approval", _forgets_that_it_was_approved, seconds=400),
    Planted("polls every ten seconds", "no event missed", settings={"poll_seconds": 10.0}),
    Planted(
        "heeds Retry-After to the end",
        "no event missed",
        lambda: patch.object(watching, "_LONGEST_PAUSE_SECONDS", 60.0),
        seed=1,
        seconds=1200,
    ),
    Planted(
        "tries again without haste",
        "no event missed",
        lambda: patch.object(watching, "_QUICK_TRIES", 0),
        seed=2,
        seconds=1800,
    ),
    Planted("dies of a closed socket", "no crash", _dies_of_a_closed_socket, seed=1),
    Planted(
        "gives the first call ten seconds",
        "the first call may take two minutes",
        settings={"first_timeout_seconds": 10.0},
    ),
)
