"""The Host headers that a listener on a loopback address accepts.

A web page can make a browser send requests to this machine under a name that the page's owner controls (DNS
rebinding). Programs call a loopback listener by an address or by a name that somebody chose for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, ip_address

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][@/?#:,\s\\]+)(?::\d{0,5})?")
_ENDPOINT = IPv4Address("169.254.169.254")


class LocalHosts:
    """localhost, loopback addresses, Azure's own address, and the names that the operator chose."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name.lower().rstrip(".") for name in ("localhost", *names))

    def allows(self, host: str) -> bool:
        """Whether a Host header, with or without a port, names this machine."""
        match = _HOST.fullmatch(host.strip())
        if match is None:
            return False
        name = match[1].lower()
        if name.rstrip(".") in self._names:
            return True
        try:
            address = ip_address(name.strip("[]"))
        except ValueError:
            return False
        return address.is_loopback or address == _ENDPOINT


def is_loopback(address: str) -> bool:
    """Whether a socket's own address, which the kernel wrote, is a loopback address."""
    return address.startswith("127.") or address == "::1"
