"""Call an address over HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers import template
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.calls import Call, CallFailed, call, marks_of, trust_problems, trusted
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.filling import Filling, has_type, is_json
from forewarn.agent.handlers.records import settled, settled_result, was_begun

_METHOD = re.compile(r"[A-Z]{1,20}")
_ALWAYS_REPEATABLE = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}
_OF_UNDO = {"url", "method", "headers", "body", "expect", "repeatable"}


class HttpCall:
    """Makes one HTTP request, and another one to undo it."""

    help = "Makes an HTTP request. A status that is expected is success; redirects are not followed."
    is_for_all_events = False
    options = (
        Option("url", "secret", "Where to. `${...}` stands for a part of the event.", is_required=True),
        Option("method", "text", "GET, POST, PUT, ...", default="POST"),
        Option("headers", "table", "Headers to send; `${...}` stands for a part of the event."),
        Option("body", "text", "What to send; `${...}` stands for a part of the event, and JSON stays JSON."),
        Option("secrets", "table", "Texts that `${secret.NAME}` stands for, in address, headers and body."),
        Option("expect", "numbers", "The statuses that are success. Without it: 200 to 299."),
        Option(
            "repeatable",
            "flag",
            "Whether the call may be made again when an agent died over it. GET, HEAD, PUT and DELETE always may.",
            default=False,
        ),
        Option("undo", "options", "The call that undoes it: url, method, headers, body, expect, repeatable."),
        Option("ca_file", "path", "The certificates to trust, instead of the system's."),
        Option("verify_tls", "flag", "Whether the other side's certificate is verified.", default=True),
        Option("proxy", "text", "The HTTP proxy to go through. Without it: none, whatever the environment says."),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        problems = [*_call_problems(said, ""), *trust_problems(said)]
        undo = said["undo"]
        if undo:
            if not undo.get("url"):
                problems.append("undo has no url. Say where the call that undoes it goes.")
            problems += [
                f"undo has {name!r}, which it cannot have. It has: {', '.join(sorted(_OF_UNDO))}."
                for name in undo
                if name not in _OF_UNDO
            ]
            problems += _call_problems(_undo_of(self.options, said), "undo.")
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """Whether it has a call for the undo."""
        return bool(options.get("undo"))

    def run(self, task: Task) -> Result:
        """Make the call, or the one for the undo."""
        said = self._said(task)
        return (
            Result(is_done=True, note="it has no undo")
            if said is None
            else settled(task, lambda: _make(said, task))
        )

    def take_over(self, task: Task) -> Result | None:
        """What came of the call of an earlier agent; one that may be made again is."""
        said = self._said(task)
        if result := settled_result(task):
            return result
        if said is None or not was_begun(task) or _is_repeatable(said):
            return None
        note = "the agent ended while it called; whether the call arrived is not known"
        return Result(is_done=False, note=note, is_uncertain=True)

    def _said(self, task: Task) -> dict[str, Any] | None:
        said = with_defaults(self.options, task.options)
        if task.direction is Direction.DO:
            return said
        return _undo_of(self.options, said) if said["undo"] else None


def _undo_of(table: tuple[Option, ...], said: Mapping[str, Any]) -> dict[str, Any]:
    """The call that undoes: its own words, and the trust and the secrets of the call."""
    shared = {name: said[name] for name in ("secrets", "ca_file", "verify_tls", "proxy")}
    return with_defaults(table, {**shared, **said["undo"]})


def _call_problems(said: Mapping[str, Any], prefix: str) -> list[str]:
    secrets, headers = said["secrets"] or {}, said["headers"] or {}
    problems = template.url_problems(said["url"], f"{prefix}url", secrets) if said["url"] else []
    if not _METHOD.fullmatch(said["method"]):
        problems.append(f"{prefix}method is {said['method']!r}. Write it in capitals, such as POST.")
    problems += template.header_problems(headers, f"{prefix}headers", secrets)
    if said["body"]:
        judge = template.json_problems if is_json(headers) else template.problems
        problems += judge(said["body"], f"{prefix}body", secrets)
    problems += [
        f"{prefix}expect has {status}, which is no status. They are 200 to 599."
        for status in said["expect"] or ()
        if not HTTPStatus.OK <= status < 600  # noqa: PLR2004 - so the protocol says
    ]
    return problems


def _is_repeatable(said: Mapping[str, Any]) -> bool:
    return said["repeatable"] or said["method"] in _ALWAYS_REPEATABLE


def _make(said: Mapping[str, Any], task: Task) -> Result:
    filling = Filling(task, said["secrets"] or {})
    given = filling.headers(said["headers"] or {})
    kind = {"Content-Type": "application/json"} if said["body"] and not has_type(given) else {}
    request = Call(
        method=said["method"],
        url=filling.url(said["url"]),
        headers={"Idempotency-Key": task.key, **kind, **given, **marks_of(task)},
        body=filling.body(said["body"], given),
        **trusted(said),
    )
    try:
        reply = call(request, Deadline(task.seconds, task.stop))
    except CallFailed as problem:
        is_uncertain = problem.may_have_arrived and not _is_repeatable(said)
        return Result(is_done=False, note=filling.hide(str(problem)), is_uncertain=is_uncertain)
    is_fine = reply.status in said["expect"] if said["expect"] else reply.status // 100 == HTTPStatus.OK // 100
    more = f": {reply.excerpt(filling.hide)}" if reply.body and not is_fine else ""
    return Result(is_fine, filling.hide(f"{filling.where(request)} answered {reply.status}{more}"))


HANDLER = HttpCall()
