"""DHCP option 245 in the lease files of dhclient, systemd-networkd and NetworkManager.

Files are judged by what is in them, not by who wrote them. NetworkManager's own client keeps the option in its
file only in some versions; where it does not, `SCHEDULEDEVENTSIP` or an endpoint in the settings says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

# dhclient; dhclient under NetworkManager; NetworkManager's own client; systemd-networkd.
PLACES = (
    "/run/systemd/netif/leases/*",
    "/var/lib/NetworkManager/*.lease",
    "/var/lib/dhcp/*.lease*",
    "/var/lib/dhcp3/*.lease*",
    "/var/lib/dhclient/*.lease*",
    "/run/dhclient*.lease*",
)

_MOST_BYTES = 1024 * 1024  # of one file; dhclient adds to its own for as long as it runs
_MOST_FILES = 100
_ADDRESS_BYTES = 4

_LEASE = re.compile(r"^lease[^{\n]*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_INTERFACE = re.compile(r"^\s*interface\s+\"([^\"]*)\"\s*;", re.MULTILINE)
_OPTION = re.compile(
    r"^\s*option\s+(?:(?:unknown|option|private)-)?245\s+(\"(?:\\.|[^\"\\])*\"|[^;\n]+);", re.MULTILINE
)
_LINE = re.compile(r"^\s*(?:OPTION|private|unknown)_245\s*=\s*(\S+)\s*$", re.MULTILINE | re.IGNORECASE)
_ESCAPED = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)


def find_told_addresses(places: Iterable[str] = PLACES, root: Path = Path("/")) -> list[str]:
    """The addresses that DHCP servers have told, of the newest file first."""
    files = [file for place in places for file in root.glob(place.removeprefix("/"))][:_MOST_FILES]
    found = []
    for file in sorted(files, key=_age_key, reverse=True):
        found.extend(addresses_in(_read(file)))
    return list(dict.fromkeys(found))


def addresses_in(text: str) -> list[str]:
    """The addresses that a lease file tells, the newest first."""
    newest: dict[str, str] = {}  # of each interface; a later lease stands further down, and may lack the option
    for lease in _LEASE.finditer(text):
        interface = _INTERFACE.search(lease[1])
        said = _OPTION.search(lease[1])
        name = interface[1] if interface else ""
        newest.pop(name, None)
        newest[name] = said[1] if said else ""
    written = [*reversed(newest.values()), *(line[1] for line in _LINE.finditer(text))]
    return [address for each in written if (address := read_address(each)) is not None]


def read_address(said: str) -> str | None:
    """The address that an option's value means: bytes in hex, with colons or without, a text of four, or dots."""
    said = said.strip()
    content = _bytes_of(said)
    if content is None or len(content) != _ADDRESS_BYTES:
        return None
    return ".".join(map(str, content)) if _is_a_hosts(content) else None


def _bytes_of(said: str) -> bytes | None:
    if said.startswith('"'):  # what dhclient writes where every byte happens to be a letter
        return _ESCAPED.sub(_unescaped, said[1:-1]).encode("latin-1", "ignore")
    parts = said.split(":") if ":" in said else re.findall("..", said) if len(said) == 2 * _ADDRESS_BYTES else []
    base = 16
    if not parts:
        parts, base = said.split("."), 10
    try:
        return bytes(int(part, base) for part in parts)
    except ValueError:
        return None


def _unescaped(found: re.Match[str]) -> str:
    said = found[1]
    return chr(int(said, 8) & 0xFF) if said.isdecimal() and len(said) > 1 else said


def _is_a_hosts(content: Sequence[int]) -> bool:
    """Whether it is an address of one other machine."""
    return content[0] not in {0, 127} and content[0] < 224  # noqa: PLR2004 - from there on: groups and everybody


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            opened.seek(max(0, size - _MOST_BYTES))
            return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:  # gone, a directory, or not ours to read
        return ""


def _age_key(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
