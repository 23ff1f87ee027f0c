"""Tell someone, by a webhook."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from forewarn.agent.handlers import template
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.calls import Call, CallFailed, call, marks_of, trust_problems, trusted
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.event_words import TEST_MARK, azure_members
from forewarn.agent.handlers.filling import Filling
from forewarn.agent.handlers.records import settled, settled_result

_PAUSES_SECONDS = (0.5, 1, 2, 4, 8, 15)  # between tries; the last one repeats
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}  # of 4xx
_LONGEST_WISH_SECONDS = 60  # a Retry-After beyond is not kept
_SHORTEST_TRY_SECONDS = 0.5
_PRESETS = ("slack", "teams")


class Webhook:
    """Posts JSON, again and again until it arrives or time is up."""

    help = "Posts JSON to a webhook, again and again until it arrives or its time is up. It has no undo."
    is_for_all_events = False
    options = (
        Option("url", "secret", "Where to. `${...}` stands for a part of the event.", is_required=True),
        Option(
            "preset", "text", "`slack` or `teams`: the form that these read. Without it: the event and the text."
        ),
        Option("text", "text", "What to say. `${...}` stands for a part of the event.", default="${summary}"),
        Option(
            "body", "text", "JSON of your own, instead of a preset's; `${...}` is quoted so that it stays JSON."
        ),
        Option("headers", "table", "More headers to send."),
        Option("secrets", "table", "Texts that `${secret.NAME}` stands for, in address, headers and body."),
        Option("request_seconds", "seconds", "How long one try may take.", default=10),
        Option("ca_file", "path", "The certificates to trust, instead of the system's."),
        Option("verify_tls", "flag", "Whether the other side's certificate is verified.", default=True),
        Option("proxy", "text", "The HTTP proxy to go through. Without it: none, whatever the environment says."),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        secrets = said["secrets"] or {}
        problems = template.url_problems(said["url"], "url", secrets) if said["url"] else []
        if said["preset"] and said["preset"] not in _PRESETS:
            problems.append(f"preset is {said['preset']!r}. There are: {', '.join(_PRESETS)}.")
        if said["preset"] and said["body"]:
            problems.append("preset and body say the same thing twice. Take one of them out.")
        problems += template.problems(said["text"], "text", secrets)
        if said["body"]:
            problems += template.json_problems(said["body"], "body", secrets)
        problems += template.header_problems(said["headers"] or {}, "headers", secrets)
        return [*problems, *trust_problems(said)]

    def undoes(self, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - none of them matters
        """What was said cannot be taken back."""
        return False

    def run(self, task: Task) -> Result:
        """Post it, until it arrives."""
        said = with_defaults(self.options, task.options)
        return settled(task, lambda: _post(said, task))

    def take_over(self, task: Task) -> Result | None:
        """Whether it arrived. What is not known to is sent again, with the key by which a repeat can be told."""
        return settled_result(task)


def _post(said: Mapping[str, Any], task: Task) -> Result:
    filling = Filling(task, said["secrets"] or {})
    given = filling.headers(said["headers"] or {})
    request = Call(
        method="POST",
        url=filling.url(said["url"]),
        headers={"Content-Type": "application/json", "Idempotency-Key": task.key, **given, **marks_of(task)},
        body=_body(said, filling, task),
        **trusted(said),
    )
    deadline = Deadline(task.seconds, task.stop)
    tries = 0
    while True:
        tries += 1
        is_over, words, pause_seconds = _try(
            request, deadline.within(said["request_seconds"]), tries, filling.hide
        )
        note = filling.hide(f"{words}, try {tries}")
        if is_over is not None:
            return Result(is_over, note)
        # A pause that is longer than the time left leaves out the last chance.
        if deadline.left < _SHORTEST_TRY_SECONDS or not deadline.pause(min(pause_seconds, deadline.left / 2)):
            return Result(is_done=False, note=note)


def _try(
    request: Call, deadline: Deadline, tries: int, hide: Callable[[str], str]
) -> tuple[bool | None, str, float]:
    """Whether it arrived (None: try again), what to say, and how long to wait before the next try."""
    pause_seconds: float = _PAUSES_SECONDS[min(tries, len(_PAUSES_SECONDS)) - 1]
    try:
        reply = call(request, deadline)
    except CallFailed as problem:
        return None, str(problem), pause_seconds
    words = f"status {reply.status}"
    if reply.status // 100 == HTTPStatus.OK // 100:
        return True, f"it arrived with {words}", 0
    if reply.body:
        words += f" ({reply.excerpt(hide)})"
    if reply.status < HTTPStatus.INTERNAL_SERVER_ERROR and reply.status not in _PASSING:
        return False, f"it was refused with {words}", 0
    wish = reply.headers.get("retry-after", "")
    if wish.isdigit():
        pause_seconds = max(pause_seconds, min(float(wish), _LONGEST_WISH_SECONDS))
    return None, f"it did not arrive: {words}", pause_seconds


def _body(said: Mapping[str, Any], filling: Filling, task: Task) -> bytes:
    if said["body"]:
        body = filling.body(said["body"], {}) or b""
        return _marked(body) if task.is_test else body
    text = filling.plainly(said["text"])
    if task.is_test and not text.startswith(TEST_MARK):
        text = f"{TEST_MARK}{text}"
    if said["preset"] == "slack":
        # Slack reads <...> and & as its own marks, so these three are quoted its way.
        quoted = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        message: dict[str, Any] = {"text": quoted}
    elif said["preset"] == "teams":
        message = _card(text)
    else:
        message = {
            "text": text,
            "vm": task.vm,
            "step": task.step,
            "key": task.key,
            "event": azure_members(task.event),
            **({"is_test": True} if task.is_test else {}),
        }
    return json.dumps(message).encode()


def _marked(body: bytes) -> bytes:
    """JSON of the user's own with a mark in its text, where it has one; the header marks every other form."""
    said = json.loads(body)
    text = said.get("text") if isinstance(said, dict) else None
    if not isinstance(text, str) or text.startswith(TEST_MARK):
        return body
    return json.dumps({**said, "text": f"{TEST_MARK}{text}"}).encode()


def _card(text: str) -> dict[str, Any]:
    """A message for Teams: one adaptive card with one paragraph."""
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": text, "wrap": True}],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


HANDLER = Webhook()
