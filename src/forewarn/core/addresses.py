"""IP addresses as they are compared."""

from __future__ import annotations

from ipaddress import ip_address


def canonical(address: str) -> str:
    """An address as it is compared: an IPv4 one inside IPv6 is itself, and a zone does not count.

    Raises ValueError for what is no address.
    """
    parsed = ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)
