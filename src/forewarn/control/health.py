"""Whether a set is well by its owner's own check: an address that answers 2xx, or a command that ends with 0.

A check is asked for on a thread of its own and never waited for, but under a virtual clock, where time would have
passed before anybody could answer. Commands are those that whoever runs the service has named; a fleet can only
refer to them.
"""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from forewarn import __version__

_URL_SECONDS = 5.0
_COMMAND_SECONDS = 30.0
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    begun_at: datetime
    trouble: str | None  # None: it is well


class HealthChecks:
    """Asks, remembers what was answered, and tells it when it is recent enough."""

    def __init__(
        self,
        check_of: Callable[[str], str | None],
        now: Callable[[], datetime],
        commands: Mapping[str, Sequence[str]] | None = None,
        *,
        waits: bool = False,
    ) -> None:
        self._check_of = check_of  # by the name of a set
        self._now = now
        self._commands = commands or {}
        self._waits = waits
        self._answers: dict[str, _Answer] = {}
        self._asking: set[str] = set()
        self._gate = threading.Lock()

    def verdict(self, set_name: str, since: datetime) -> str | None:
        """What the check has said since then: None if all is well or there is no check, else why not."""
        check = self._check_of(set_name)
        if check is None:
            return None
        answer = self._answers.get(set_name)
        if answer is None or answer.begun_at < since or answer.trouble is not None:
            self._ask(set_name, check)
            if self._waits:
                answer = self._answers[set_name]
        if answer is None or answer.begun_at < since:
            return f"the health check of {set_name} has not answered yet"
        return None if answer.trouble is None else f"the health check of {set_name} {answer.trouble}"

    def _ask(self, set_name: str, check: str) -> None:
        with self._gate:
            if set_name in self._asking:
                return
            self._asking.add(set_name)
        begun_at = self._now()

        def act() -> None:
            trouble = self._run(set_name, check)
            with self._gate:
                self._answers[set_name] = _Answer(begun_at, trouble)
                self._asking.discard(set_name)

        if self._waits:
            act()
        else:
            threading.Thread(target=act, name=f"health-{set_name}", daemon=True).start()

    def _run(self, set_name: str, check: str) -> str | None:
        try:
            if "://" in check:
                return _ask_url(check)
            if check not in self._commands:
                return f"is {check!r}, which this service has no command for (--health-command {check}=...)"
            return _run_command(self._commands[check], set_name)
        except Exception as problem:  # noqa: BLE001 - whatever went wrong, nobody has said that all is well
            return f"failed: {problem}"[:_LONGEST_REASON]


def _ask_url(url: str) -> str | None:
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_URL_SECONDS)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"User-Agent": f"forewarn/{__version__}", "Connection": "close"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as problem:
        return f"did not answer: {problem}"[:_LONGEST_REASON]
    finally:
        connection.close()
    return None if 200 <= status < 300 else f"answered {status}"  # noqa: PLR2004 - HTTP's own


def _run_command(command: Sequence[str], set_name: str) -> str | None:
    environment = {**os.environ, "FOREWARN_SET": set_name}
    process = subprocess.Popen(  # noqa: S603 - named by whoever runs the service
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=_COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
        process.communicate()
        return f"did not end within {_COMMAND_SECONDS:.0f} s"
    if process.returncode == 0:
        return None
    lines = output.decode(errors="replace").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return f"ended with {process.returncode}{said}"[:_LONGEST_REASON]
