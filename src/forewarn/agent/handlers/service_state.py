"""Whether this machine is in service: what the readiness handler says and the agent's /readyz and /drainz tell."""

from __future__ import annotations

import threading


class ServiceState:
    """Who keeps this machine out of service, and who of them has finished draining. Safe for every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_drained: dict[str, bool] = {}

    def take_out(self, holder: str) -> None:
        """Out of service, for this holder's sake. Once more changes nothing."""
        with self._lock:
            self._is_drained.setdefault(holder, False)

    def note_drained(self, holder: str) -> None:
        """Its connections are few; where the holder is not out of service, nothing."""
        with self._lock:
            if holder in self._is_drained:
                self._is_drained[holder] = True

    def put_back(self, holder: str) -> None:
        """The holder no longer minds. The machine is back in service when no holder is left."""
        with self._lock:
            self._is_drained.pop(holder, None)

    @property
    def holders(self) -> tuple[str, ...]:
        """Who keeps it out of service."""
        with self._lock:
            return tuple(self._is_drained)

    @property
    def is_in_service(self) -> bool:
        """What /readyz tells."""
        with self._lock:
            return not self._is_drained

    @property
    def is_drained(self) -> bool:
        """Out of service, and nobody waits for connections any more: what /drainz tells."""
        with self._lock:
            return bool(self._is_drained) and all(self._is_drained.values())


READINESS = ServiceState()
