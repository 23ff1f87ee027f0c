"""Reading HTTP: bytes in, whole requests out, and the one objection that ends it.

Nothing is written here: what a request gets, and when, is the connection's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import httptools

from forewarn.edge.limits import GuestLimits
from forewarn.wire.http import CLOSE, KEEP_ALIVE, Answer
from forewarn.wire.imds import errors
from forewarn.wire.imds.request import Request


class Arrived(NamedTuple):
    """A whole request, and the header line in which its answer speaks of the connection."""

    request: Request
    ending: bytes


class Incoming:
    """A request while it is being read."""

    __slots__ = ("began_at", "body", "has_head", "headers", "size", "target")

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        self.target = b""
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.size = 0
        self.has_head = False


class RequestReader:
    """Reads what one client sends; after an objection it reads nothing more."""

    def __init__(self, limits: GuestLimits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._parser: Any = httptools.HttpRequestParser(self)
        self._whole: list[Arrived] = []
        self._unaccounted = 0  # bytes that were fed and that no callback has told of
        self.incoming: Incoming | None = None
        self.objection: Answer | None = None
        self.awaits_go_ahead = False  # the client sends its body when it is told to

    def feed(self, data: bytes) -> list[Arrived]:
        """The requests that are whole by now; whether there is an objection to the rest is known then too."""
        self._unaccounted += len(data)
        rest = data
        while rest and self.objection is None:
            rest = self._feed(rest)
        if self.incoming is not None and self._unaccounted > self._limits.header_bytes:
            self._object(errors.HEADERS_TOO_LARGE)
        whole, self._whole = self._whole, []
        return whole

    def _feed(self, data: bytes) -> bytes:
        """What is left for another parser: this one reads nothing behind an upgrade."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._without_upgrade() + data[upgrade.args[0] :]
        except httptools.HttpParserError:
            self._object(errors.MALFORMED_REQUEST)
        return b""

    def _without_upgrade(self) -> bytes:
        """The head of the request once more, without the upgrade: it is offered, not demanded."""
        parser, incoming = self._parser, self.incoming
        self._parser, self.incoming = httptools.HttpRequestParser(self), None
        if incoming is None:
            return b""
        headers = [f"{name}: {value}" for name, value in incoming.headers if name != "upgrade"]
        first = b"%s %s HTTP/%s" % (parser.get_method(), incoming.target, parser.get_http_version().encode())
        return b"\r\n".join([first, *(line.encode("latin-1") for line in headers), b"", b""])

    def _object(self, answer: Answer) -> None:
        self.incoming = None
        self.awaits_go_ahead = False
        if self.objection is None:
            self.objection = answer

    # The parser's calls.

    def on_message_begin(self) -> None:
        """A request begins."""
        if self.objection is None:
            self.incoming = Incoming(self._now())

    def on_url(self, url: bytes) -> None:
        """A piece of the request's target."""
        if self.incoming is not None:
            self.incoming.target += url
            self._count(self.incoming, len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header, or a trailer behind a body in chunks, which says nothing to us."""
        if self.incoming is not None:
            if not self.incoming.has_head:
                self.incoming.headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))
            self._count(self.incoming, len(name) + len(value) + 4)

    def _count(self, incoming: Incoming, size: int) -> None:
        """So many bytes of the request's head have been read and understood."""
        self._unaccounted -= size
        incoming.size += size
        if incoming.size > self._limits.header_bytes:
            self._object(errors.HEADERS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """The head is whole: what its body may be is known."""
        self._unaccounted = 0
        if self.incoming is None:
            return
        self.incoming.has_head = True
        headers = dict(self.incoming.headers)
        encodings = [value.lower() for name, value in self.incoming.headers if name == "transfer-encoding"]
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._limits.body_bytes:
            self._object(errors.BODY_TOO_LARGE)
        elif encodings not in ([], ["chunked"]):
            self._object(errors.MALFORMED_REQUEST)  # nothing else is decoded here
        else:
            self.awaits_go_ahead = headers.get("expect", "").lower() == "100-continue"

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._unaccounted = 0
        self.awaits_go_ahead = False
        if self.incoming is not None:
            self.incoming.body += body
            if len(self.incoming.body) > self._limits.body_bytes:
                self._object(errors.BODY_TOO_LARGE)

    def on_message_complete(self) -> None:
        """A request is whole, unless it offers an upgrade: then it is read again."""
        self._unaccounted = 0
        method = self._parser.get_method().decode("ascii")
        is_tunnel = method == "CONNECT"  # it ends the connection; the parser would read nothing behind it anyway
        if self.incoming is None or (self._parser.should_upgrade() and not is_tunnel):
            return
        incoming, self.incoming = self.incoming, None
        self.awaits_go_ahead = False
        keeps_alive = self._parser.should_keep_alive() and not is_tunnel
        version = self._parser.get_http_version()
        ending = CLOSE if not keeps_alive else KEEP_ALIVE if version == "1.0" else b""
        target = incoming.target.decode("latin-1")
        request = Request(method, target, tuple(incoming.headers), incoming.body, version)
        self._whole.append(Arrived(request, ending))
