"""The REST interface, from the OpenAPI document that the service itself gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from http import HTTPStatus
from typing import Any

from forewarn.operator.app import ENDPOINTS
from forewarn.operator.connection import IN_WORDS as IN_WORDS_OF_LIMITS
from forewarn.operator.connection import OperatorLimits
from forewarn.operator.endpoint import (
    LARGEST_BODY,
    LARGEST_BULKY_BODY,
    LARGEST_PAGE,
)
from forewarn.operator.openapi import openapi
from forewarn.operator.pacing import STRANGERS_AT_ONCE, STRANGERS_PER_SECOND, TOKENS_AT_ONCE, TOKENS_PER_SECOND
from forewarn.operator.refusals import OCCASIONS
from forewarn.operator.roles import IN_WORDS
from tools.markdown import anchor, code, page, table
from tools.schema import in_words, members

Operation = dict[str, Any]

_INTRODUCTION = f"""\
JSON in and out, on the operators' listener. The same for programs: `GET /openapi.json`. Instants are ISO 8601 in
UTC. A list comes in pages of at most {LARGEST_PAGE}, by name or by age; `next` is the value for `after`, and null
on the last page. A request without a body counts as `{{}}`; a member that is not in the table of a body is
refused, and so is a parameter that a route of `/v1` does not have. A body has at most {LARGEST_BODY // 2**20}
MiB, that of a fleet {LARGEST_BULKY_BODY // 2**20}. Every refusal is an [ErrorBody](#errorbody)
([Errors](#errors)); the routes that Azure's clients sign in with also answer a
[DirectoryError](#directoryerror). What a fleet may hold: [Fleet file](fleet-file.md)."""


_ROLES = """\
Once somebody was given a [credential](../howto/sign-in.md), every call needs `Authorization: Bearer TOKEN`, and a
role: the one in the table, or a larger one. A role may do all that those before it may."""


_LIMITS = """\
For every client, signed in or not. Guests have a listener and limits of their own, and are answered first."""


def _limits() -> str:
    standard = OperatorLimits()
    rows = [(f"{getattr(standard, each.name)}", IN_WORDS_OF_LIMITS[each.name]) for each in fields(OperatorLimits)]
    after = "per second, after a burst of {}; further ones wait their turn"
    rows += [
        (str(STRANGERS_PER_SECOND), f"requests without a valid credential {after.format(STRANGERS_AT_ONCE)}"),
        (str(TOKENS_PER_SECOND), f"requests for a token {after.format(TOKENS_AT_ONCE)}"),
    ]
    return table(("at most", "of what, and what happens beyond it"), rows)


def _roles() -> str:
    return table(("role", "may also"), [(code(role), words) for role, words in IN_WORDS.items()])


def write() -> str:
    """The page."""
    document = openapi(ENDPOINTS)
    operations = [
        (path, method, operation) for path, each in document["paths"].items() for method, operation in each.items()
    ]
    sections: dict[str, list[tuple[str, str, Operation]]] = {}
    for path, method, operation in operations:
        sections.setdefault(_section(path), []).append((path, method, operation))
    parts = [_INTRODUCTION, _ROLES, _roles(), _overview([each for group in sections.values() for each in group])]
    for section, group in sections.items():
        parts += [f"## {section}", *(_operation(*each) for each in group)]
    return page(
        "REST",
        *parts,
        "## Errors",
        _errors(),
        "## Limits",
        _LIMITS,
        _limits(),
        "## Types",
        *_types(document["components"]["schemas"]),
    )


def _section(path: str) -> str:
    """What stands together: all that begins with the same two words."""
    if path.startswith("/v1/"):
        return "/".join(path.split("/")[:3])
    return "The service itself" if path.count("/") == 1 else "Signing in, as Azure's clients do"


def _heading(path: str, method: str) -> str:
    return f"{method.upper()} {path}"


def _overview(operations: list[tuple[str, str, Operation]]) -> str:
    rows = [
        (
            f"[{_heading(path, method)}](#{anchor(_heading(path, method))})",
            operation["x-role"] or "",
            operation["summary"],
        )
        for path, method, operation in operations
    ]
    return table(("route", "role", "what it does"), rows)


def _operation(path: str, method: str, operation: Operation) -> str:
    return "\n\n".join([f"### {_heading(path, method)}", f"{operation['summary']}.", *_details(operation)])


def _details(operation: Operation) -> Iterator[str]:
    if operation["x-role"] is None:
        yield "Nobody has to sign in."
    else:
        yield f"Role: {operation['x-role']}."
    query = [each for each in operation["parameters"] if each["in"] == "query"]
    if query:
        yield table(("parameter", "what it does"), [(code(each["name"]), each["description"]) for each in query])
    if "requestBody" in operation:
        body = operation["requestBody"]
        needed = "" if body["required"] else " (need not be sent)"
        form = "" if "application/json" in body["content"] else ", as a form"
        yield f"Body{needed}{form}: {in_words(_content(body))}."
    for status, response in operation["responses"].items():
        if status != "default":
            phrase = HTTPStatus(int(status)).phrase
            kind, *others = response["content"]
            what = in_words(_content(response)) if kind == "application/json" else code(kind)
            also = "".join(f", or {code(other)}" for other in others)
            yield f"Answer: {status} {phrase}, {what}{also}."


def _content(part: dict[str, Any]) -> dict[str, Any]:
    return dict(next(iter(part["content"].values()))["schema"])


def _errors() -> str:
    rows = [(str(int(each.status)), code(name), each.when) for name, each in OCCASIONS.items()]
    return table(("status", "code", "when"), rows)


def _types(schemas: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, schema in sorted(schemas.items()):
        yield f"### {name}"
        yield schema.get("description", "")
        if "enum" in schema:
            yield f"One of {in_words(schema)}."
        elif schema.get("properties"):
            yield members(schema)
