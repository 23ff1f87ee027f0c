"""Who may talk to the operators' listener.

Without sign-in it is open to this machine alone: a web page that someone here has open must not be able to use
it, so a foreign Origin and a Host that is not loopback are turned away.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from starlette.types import ASGIApp, Receive, Scope, Send

from forewarn.operator.refusals import Trouble, refuse

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][@/?#:\s\\]+)(?::\d{1,5})?")


def is_loopback(host: str) -> bool:
    """Whether a host name or address can only be this machine."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def host_of(header: str) -> str:
    """The host in a Host header, without its port; nothing in one that says more than that."""
    match = _HOST.fullmatch(header)
    return match[1] if match else ""


class LoopbackOnly:
    """Lets through what this machine itself asks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge the headers, then hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        answer = None
        if not is_loopback(host_of(host)):
            answer = refuse(
                Trouble.FOREIGN_HOST,
                f"The Host {host!r} is not this machine, and nobody has to sign in here.",
                "Call it as localhost or 127.0.0.1.",
            )
        elif origin is not None and origin not in {f"http://{host}", f"https://{host}"}:
            answer = refuse(
                Trouble.FOREIGN_ORIGIN, f"A page of {origin} may not use this service.", "Use the command line."
            )
        await (answer or self._app)(scope, receive, send)
