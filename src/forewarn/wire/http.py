"""HTTP answers as bytes.

`head` ends before the last header and `tail` begins after it, so that a ready answer can be sent with the date
of the moment and, where asked for, `Connection: close` in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

_PHRASES = {413: "Content Too Large"}  # renamed in RFC 9110, and in one version of Python but not in another
JSON = "application/json; charset=utf-8"
CLOSE = b"Connection: close\r\n"
_RETRY_AFTER = re.compile(rb"\r\nRetry-After: (\d+)\r\n")
KEEP_ALIVE = b"Connection: keep-alive\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, ready but for the headers that depend on the moment and the connection."""

    status: int
    head: bytes
    tail: bytes

    def encode(self, extra: bytes = b"") -> bytes:
        """The answer as it goes out, with some more header lines."""
        return self.head + extra + self.tail

    @property
    def body(self) -> bytes:
        """What follows the headers."""
        return self.tail[2:]

    @property
    def retry_after_seconds(self) -> int:
        """How long it asks the caller to wait before the next request; 0: it does not."""
        found = _RETRY_AFTER.search(self.head)
        return int(found[1]) if found else 0


def answer(
    status: int, body: bytes = b"", headers: tuple[tuple[str, str], ...] = (), content_type: str = JSON
) -> Answer:
    """An answer; one without a body says so, except where a body is not allowed at all."""
    lines = [f"HTTP/1.1 {status} {_PHRASES.get(status) or HTTPStatus(status).phrase}"]
    if body:
        lines.append(f"Content-Type: {content_type}")
    if status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in headers]
    return Answer(status, ("\r\n".join(lines) + "\r\n").encode("latin-1"), b"\r\n" + body)


def without_body(full: Answer) -> Answer:
    """The answer to a HEAD request: the same headers, and nothing after them."""
    return Answer(full.status, full.head, b"\r\n")


def to_json(value: object) -> bytes:
    """Compact JSON on one line, members in the order given."""
    return msgspec.json.encode(value)
