"""Tells systemd how the agent is: READY, STATUS, WATCHDOG, STOPPING. Elsewhere it says nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress


class Notifier:
    """Speaks to the socket that systemd names, if there is one."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._watchdog_seconds = _watchdog_seconds(environment)
        self._status = ""
        self._patted_at = float("-inf")

    @property
    def watchdog_seconds(self) -> float | None:
        """How often systemd wants to hear something; None: never."""
        return self._watchdog_seconds

    def ready(self) -> None:
        """The agent has begun."""
        self._send("READY=1")

    def stopping(self) -> None:
        """The agent ends."""
        self._send("STOPPING=1\nSTATUS=stopping")

    def status(self, words: str) -> None:
        """How it is, in words; nothing where that was said already."""
        # It names events, whose ids come from outside: a new line in one would be taken for another message.
        words = "".join(each if each.isprintable() else "?" for each in words)
        if words != self._status:
            self._status = words
            self._send(f"STATUS={words}")

    def pat(self, now: float) -> None:
        """It lives: said three times as often as it has to be."""
        if self._watchdog_seconds is not None and now - self._patted_at >= self._watchdog_seconds / 3:
            self._patted_at = now
            self._send("WATCHDOG=1")

    def _send(self, words: str) -> None:
        if not self._address or not hasattr(socket, "AF_UNIX"):
            return
        # A name that begins with @ is one without a file.
        address = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.settimeout(1)
            connection.sendto(words.encode(), address)


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    said, process = environment.get("WATCHDOG_USEC", ""), environment.get("WATCHDOG_PID", "")
    if not said.isdecimal() or int(said) == 0 or (process and process != str(os.getpid())):
        return None
    return int(said) / 1_000_000
