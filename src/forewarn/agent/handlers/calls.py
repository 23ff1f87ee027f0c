"""One HTTP request, within a time that nothing can stretch: names, handshakes and slow answers included.

No redirects, no proxy but the given one, certificates verified. No error tells more of an address than its host.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from forewarn import __version__
from forewarn.agent.compat import dataclass
from forewarn.agent.handlers.base import Task
from forewarn.agent.handlers.deadline import Deadline

if TYPE_CHECKING:
    from http.client import HTTPConnection
    from ssl import SSLContext

_MOST_BYTES = 256 * 1024  # of an answer
_LOOK_SECONDS = 0.02
_LOOKED_AT_BYTES = 32 * 1024  # of an answer that is told, for what is to be hidden


class CallFailed(Exception):
    """No answer, and why."""

    def __init__(self, words: str, *, may_have_arrived: bool = False) -> None:
        super().__init__(words)
        self.may_have_arrived = may_have_arrived


@dataclass(frozen=True, slots=True)
class Call:
    """What to ask, and whom to trust."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    ca_file: str = ""
    verify_tls: bool = True
    proxy: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)  # by lower-case names

    def excerpt(self, hide: Callable[[str], str]) -> str:
        """The beginning of its body, as one line. What is to be hidden goes first: half of it is not found."""
        return " ".join(hide(self.body[:_LOOKED_AT_BYTES].decode("utf-8", "replace")).split())[:120]


def marks_of(task: Task) -> dict[str, str]:
    """Headers that tell the other side what a call is for: a test is marked as one."""
    return {"Forewarn-Test": "true"} if task.is_test else {}


def url_problems(url: str, where: str) -> list[str]:
    """What is wrong with an address; it is not repeated, as it may be a secret."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only who calls needs it

    if any(letter.isspace() or not letter.isprintable() for letter in url):
        return [f"{where} has a blank or a line break in it. Take it out, or write it as %20."]
    try:
        parsed = urlsplit(url)
        fits = parsed.scheme in {"http", "https"} and bool(parsed.hostname) and parsed.port != 0
    except ValueError:
        fits = False
    if not fits:
        return [f"{where} is no address that can be called. Write http://HOST[:PORT]/... or https://..."]
    if parsed.username or parsed.password:
        return [f"{where} has a user or a password in it. Put them into a header, Authorization."]
    return []


def host_of(url: str) -> str:
    """All that may be told of an address."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - only who calls needs it

    parsed = urlsplit(url)
    return f"{parsed.scheme}://{parsed.netloc.rpartition('@')[2]}"


def call(request: Call, deadline: Deadline) -> Reply:
    """The answer, whatever its status; `CallFailed` where there is none in time."""
    at_it = _Call(request, deadline.left)
    thread = threading.Thread(target=at_it.run, name="call", daemon=True)
    thread.start()
    while not at_it.is_over.wait(min(_LOOK_SECONDS, deadline.left)):
        if deadline.is_over:
            at_it.give_up()
            words = f"{request.method} {host_of(request.url)} did not answer: {deadline.why()}"
            raise CallFailed(words, may_have_arrived=at_it.has_begun)
    if at_it.reply is None:
        words = f"{request.method} {host_of(request.url)} failed: {at_it.problem}"
        raise CallFailed(words, may_have_arrived=at_it.has_begun)
    return at_it.reply


class _Call:
    """The request on a thread of its own: whoever waits for it can leave."""

    def __init__(self, request: Call, seconds: float) -> None:
        self.is_over = threading.Event()
        self.reply: Reply | None = None
        self.problem = ""
        self.has_begun = False  # to send the request
        self._request = request
        self._seconds = seconds
        self._connection: HTTPConnection | None = None
        self._is_given_up = threading.Event()

    def run(self) -> None:
        from http.client import HTTPException  # noqa: PLC0415 - brings OpenSSL with it

        try:
            self.reply = self._ask()
        except (OSError, HTTPException, ValueError) as problem:
            self.problem = f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
        finally:
            if self._connection is not None:
                self._connection.close()
            self.is_over.set()

    def give_up(self) -> None:
        """Let go of the socket; what has not been sent by now never is."""
        import socket  # noqa: PLC0415 - beside what is loaded for the call

        self._is_given_up.set()
        taken = self._connection.sock if self._connection is not None else None
        if taken is not None:
            try:
                taken.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def _ask(self) -> Reply:
        request = self._request
        # The socket's own limit only ends a thread that nobody waits for any more.
        self._connection, target, more = _connection(request, self._seconds + 1)
        self._connection.connect()
        if self._is_given_up.is_set():
            raise TimeoutError("it was given up")
        headers = {"User-Agent": f"forewarn-agent/{__version__}", **request.headers, **more}
        encoded = {name: value.encode("utf-8", "replace") for name, value in headers.items()}
        self.has_begun = True
        self._connection.request(request.method, target, request.body, encoded)
        with self._connection.getresponse() as answer:
            heard = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, answer.read(_MOST_BYTES), heard)


def _connection(request: Call, seconds: float) -> tuple[HTTPConnection, str, dict[str, str]]:
    """A connection that is not made yet, what to ask it for, and headers for a proxy."""
    from base64 import b64encode  # noqa: PLC0415 - as the next ones
    from http.client import HTTPConnection, HTTPSConnection  # noqa: PLC0415 - brings OpenSSL with it
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415 - only who calls needs it

    url, proxy = urlsplit(request.url), urlsplit(request.proxy)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    host, port = url.hostname or "", url.port
    via = (proxy.hostname or "", proxy.port or 80)
    for_proxy: dict[str, str] = {}
    if request.proxy and proxy.username:
        word = b64encode(f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()).decode()
        for_proxy = {"Proxy-Authorization": f"Basic {word}"}
    if url.scheme == "https":
        where = via if request.proxy else (host, port)
        secure = HTTPSConnection(*where, timeout=seconds, context=_trust(request))
        if request.proxy:
            secure.set_tunnel(host, port or 443, for_proxy)
        return secure, target, {}
    if request.proxy:
        return HTTPConnection(*via, timeout=seconds), f"{url.scheme}://{url.netloc}{target}", for_proxy
    return HTTPConnection(host, port, timeout=seconds), target, {}


def _trust(request: Call) -> SSLContext:
    import ssl  # noqa: PLC0415 - 4 MB, for those who need it

    context = ssl.create_default_context(cafile=request.ca_file or None)
    if not request.verify_tls:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def trusted(said: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a request that says whom to trust, from a handler's options."""
    return {
        "ca_file": str(said.get("ca_file") or ""),
        "verify_tls": bool(said.get("verify_tls", True)),
        "proxy": str(said.get("proxy") or ""),
    }


def trust_problems(said: Mapping[str, Any]) -> list[str]:
    """What is wrong with that part."""
    from pathlib import Path  # noqa: PLC0415 - beside what is checked

    problems = []
    if said.get("ca_file") and not Path(said["ca_file"]).is_file():
        problems.append(
            f"ca_file is {str(said['ca_file'])!r}, where there is no file. Name the certificates to trust."
        )
    proxy = str(said.get("proxy") or "")
    if proxy and not proxy.startswith("http://"):
        problems.append("proxy has to be http://HOST:PORT, also for https addresses.")
    return problems
