"""Where to ask: URLs, or what the machine has been told about where the endpoint is.

A VM outside a virtual network is told by DHCP, in option 245; some tools keep that in `SCHEDULEDEVENTSIP`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from forewarn.agent.compat import dataclass
from forewarn.agent.http1 import Address
from forewarn.agent.leases import find_told_addresses
from forewarn.agent.settings import AZURE, DISCOVER

VARIABLE = "SCHEDULEDEVENTSIP"

_PATHS = ("/metadata/scheduledevents", "/metadata")
_MOST_PORTS = 65_536


@dataclass(frozen=True, slots=True)
class Root:
    """An endpoint, as one connects to it and as one writes it."""

    address: Address
    prefix: str  # of every path; mostly empty
    text: str


def read_root(text: str) -> Root:
    """The endpoint that a text means: HOST, HOST:PORT, a URL with or without /metadata, or unix:PATH."""
    said = text.strip()
    if said.startswith("unix:"):
        path = said.removeprefix("unix:").removeprefix("//")
        return Root(path, "", f"unix:{path}")
    scheme, mark, rest = said.partition("://")
    if not mark:
        rest = said
    elif scheme.lower() != "http":
        raise ValueError(f"The endpoint {text!r} is not http: metadata is served in plain HTTP, say http://HOST.")
    place, _, path = rest.partition("?")[0].rstrip("/").partition("/")
    prefix = f"/{path}" if path else ""
    for each in _PATHS:
        if prefix.lower().endswith(each):
            prefix = prefix[: -len(each)]
    host, port = _split(place, text)
    return Root((host, port), prefix.rstrip("/"), f"http://{place}{prefix.rstrip('/')}")


def _split(place: str, text: str) -> tuple[str, int]:
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) < _MOST_PORTS
    if not host or "@" in host or " " in host or (port and not is_port):
        raise ValueError(f"The endpoint {text!r} is no address: say http://HOST or http://HOST:PORT.")
    return host, int(port) if port else 80


def told_by(environment: Mapping[str, str]) -> str:
    """What the environment says where the endpoint is; empty: nothing. `ValueError` for what cannot be meant."""
    said = environment.get(VARIABLE, "").strip()
    if not said:
        return ""
    try:
        return read_root(said).text
    except ValueError as problem:
        raise ValueError(f"{VARIABLE} is {said!r}, which is no address: say HOST or HOST:PORT.") from problem


class Endpoints:
    """The endpoints that there are, in the order in which they are asked."""

    def __init__(
        self,
        said: Sequence[str],
        environment: Mapping[str, str] | None = None,
        find_told: Callable[[], Sequence[str]] = find_told_addresses,
    ) -> None:
        """`ValueError` where the environment is to say one, and says nonsense: another would be asked instead."""
        self._said = tuple(said) or (AZURE,)
        self._told = told_by(environment or {}) if DISCOVER in self._said else ""
        self._find_told = find_told

    def roots(self) -> list[Root]:
        """All of them, looked for anew: a lease may come after the agent has started."""
        found: dict[Address, Root] = {}
        for each in self._said:
            for text in self._discover() if each == DISCOVER else (each,):
                root = read_root(text)
                found.setdefault(root.address, root)
        return list(found.values())

    def _discover(self) -> list[str]:
        """What the environment says, what DHCP said, and then Azure's address."""
        return [*([self._told] if self._told else []), *_readable(self._find_told()), AZURE]


def _readable(texts: Sequence[str]) -> list[str]:
    """What makes sense: a mistake in a lease is no reason not to watch."""
    found = []
    for text in texts:
        try:
            found.append(read_root(text).text)
        except ValueError:  # noqa: PERF203 - as many as there are endpoints: a few
            continue
    return found
