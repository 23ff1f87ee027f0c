"""From a name to addresses, in time: the system's own resolver knows no deadline."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

_MOST_PLACES = 8

Place = tuple[socket.AddressFamily, Any]  # what `connect` takes


def resolve(address: tuple[str, int] | str, seconds: float) -> list[Place]:
    """Where to connect to, at least one place; or an `OSError` that says why there is none."""
    if isinstance(address, str):
        if not hasattr(socket, "AF_UNIX"):
            raise OSError("this system has no unix sockets")
        return [(socket.AF_UNIX, address)]
    with suppress(socket.gaierror):
        return _look_up(address, socket.AI_NUMERICHOST)
    return _look_up_in_time(address, seconds)


def _look_up_in_time(address: tuple[str, int], seconds: float) -> list[Place]:
    found: list[Place] = []
    problems: list[OSError] = []

    def look_up() -> None:
        try:
            found.extend(_look_up(address, 0))
        except (OSError, UnicodeError) as problem:
            problems.append(OSError(str(problem)))

    # A thread that hangs in the resolver is left behind; it ends when the resolver gives up.
    thread = threading.Thread(target=look_up, name="resolving", daemon=True)
    thread.start()
    thread.join(max(seconds, 0))
    if found:
        return found
    raise problems[0] if problems else TimeoutError("its name was not resolved in time")


def _look_up(address: tuple[str, int], flags: int) -> list[Place]:
    host, port = address
    # As bytes: for a text the codec of international names is loaded, most of a megabyte.
    name = host.encode("ascii") if host.isascii() else host
    rows = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=flags)
    places: list[Place] = []
    places.extend((family, place) for family, _, _, _, place in rows[:_MOST_PLACES])
    if not places:
        raise OSError("it has no address")
    return places
