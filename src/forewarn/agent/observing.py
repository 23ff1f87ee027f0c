"""The thread that watches for programs, and tells of every change of an event.

Whom it tells must not raise: what an answer says after that would be lost.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable

from forewarn.agent.changes import Change, Register
from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.events import Sighting
from forewarn.agent.metadata import EndpointError, Metadata
from forewarn.agent.names import Names
from forewarn.agent.settings import Settings
from forewarn.agent.watching import Trouble, Watcher

_NAME_SECONDS = 5.0  # how long events wait for this VM's name: a notice may be short, and the hostname may do
_NAME_PAUSES_SECONDS = (10, 30, 60, 300)  # between questions for it; the last one repeats
_STOP_SECONDS = 5.0

log = logging.getLogger("forewarn.agent")


class Observer:
    """A thread that watches, and tells of every change."""

    def __init__(
        self,
        settings: Settings,
        tell: Callable[[Change], None],
        on_trouble: Callable[[Trouble], None] | None = None,
    ) -> None:
        self._clock = Clock()
        self._metadata = Metadata(Endpoints(settings.endpoints, os.environ), settings)
        self._names = Names(settings.names, socket.gethostname())
        self._register = Register(
            self._names.which,
            self._metadata.approve,
            self._clock.now,
            settings.longest_look,
            settings.apart_seconds,
        )
        self._tell = tell
        self._told_blind = False
        self._is_asking = False  # for this VM's name, in a thread of its own: it may hang, and looking must not
        self._has_name = threading.Event()  # or has waited for it long enough
        self._patience = threading.Timer(_NAME_SECONDS, self._go_on_with_name)
        self._patience.daemon = True
        self._stop = threading.Event()
        on_trouble = on_trouble or self._log_trouble
        self._watcher = Watcher(self._metadata, self._clock, settings, self._on_sighting, on_trouble)
        self._thread = threading.Thread(
            target=self._watcher.run, args=(self._stop,), name="forewarn-watch", daemon=True
        )

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer; returns at once."""
        self._stop.set()
        self._patience.cancel()
        self._watcher.look_again()

    def join(self) -> None:
        """Wait for the thread to end."""
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(_STOP_SECONDS)

    def _on_sighting(self, sighting: Sighting) -> None:
        self._told_blind = False
        if not self._is_asking:
            self._is_asking = True
            self._patience.start()
            threading.Thread(target=self._ask_for_name, name="forewarn-name", daemon=True).start()
        if not self._has_name.is_set():
            return  # whose events these are is not known yet; there is another look as soon as it is
        for change in self._register.note(sighting):
            self._tell(change)
        if self._register.look_after is not None:
            self._watcher.look_again(self._register.look_after)

    def _ask_for_name(self) -> None:
        """Ask who this is, until the endpoint tells; until then it is left to the hostname."""
        tries = 0
        while not self._stop.is_set():
            try:
                self._names.learn(self._metadata.compute_name())
            except EndpointError as problem:
                level = logging.DEBUG if tries else logging.WARNING
                log.log(level, "the endpoint does not say which VM this is: %s", problem.message)
            self._go_on_with_name()
            if self._names.compute_name:
                return
            self._stop.wait(_NAME_PAUSES_SECONDS[min(tries, len(_NAME_PAUSES_SECONDS) - 1)])
            tries += 1

    def _go_on_with_name(self) -> None:
        if not self._has_name.is_set() or self._names.compute_name:
            self._has_name.set()
            self._patience.cancel()
            self._watcher.look_again()

    def _log_trouble(self, trouble: Trouble) -> None:
        if trouble.is_blind and not self._told_blind:
            log.warning("no answer since %s: %s", f"{trouble.since:%H:%M:%SZ}", trouble.message)
        self._told_blind = trouble.is_blind
