"""The templates of a call, filled in for one attempt; and its secrets, which stay out of what is told."""

from __future__ import annotations

from collections.abc import Mapping

from forewarn.agent.handlers import template
from forewarn.agent.handlers.base import Task
from forewarn.agent.handlers.calls import Call, host_of
from forewarn.agent.handlers.event_words import parts
from forewarn.agent.secrecy import without


def is_json(headers: Mapping[str, str]) -> bool:
    """Whether a body with these headers is JSON: unless they say otherwise."""
    said = [value for name, value in headers.items() if name.lower() == "content-type"]
    return "json" in said[0].lower() if said else True


def has_type(headers: Mapping[str, str]) -> bool:
    """Whether headers say what the body is."""
    return any(name.lower() == "content-type" for name in headers)


class Filling:
    """Fills templates, and remembers what must not be told."""

    def __init__(self, task: Task, secrets: Mapping[str, str]) -> None:
        self._values = {**parts(task), **{f"secret.{name}": text for name, text in secrets.items()}}
        self._hidden = set(secrets.values())

    def url(self, text: str) -> str:
        """An address. All but its host may be a secret, as with those of chats."""
        filled = template.in_url(text, self._values)
        beyond_host = filled.removeprefix(host_of(filled))
        self._hidden |= {beyond_host, *beyond_host.split("?")}
        return filled

    def headers(self, said: Mapping[str, str]) -> dict[str, str]:
        """Headers; each value may be a secret."""
        filled = {name: template.in_header(value, self._values) for name, value in said.items()}
        self._hidden |= set(filled.values())
        return filled

    def body(self, text: str | None, headers: Mapping[str, str]) -> bytes | None:
        """A body: JSON, unless the headers say otherwise."""
        if text is None:
            return None
        filled = template.in_json if is_json(headers) else template.plainly
        return filled(text, self._values).encode("utf-8", "replace")

    def plainly(self, text: str) -> str:
        """A text for people."""
        return template.plainly(text, self._values)

    def where(self, request: Call) -> str:
        """What was asked, as far as it may be told."""
        return f"{request.method} {host_of(request.url)}"

    def hide(self, text: str) -> str:
        """A text for the log."""
        return without(self._hidden, text)
