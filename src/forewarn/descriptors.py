"""File descriptors: how many the process may open, who gets which share, and what is logged when they run out.

Guests come first. Operators and the service itself live within a reserve that guests' connections never use.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from forewarn.logs import get_logger

log = get_logger()

_OWN_DESCRIPTORS = 256  # the store, webhooks, health checks, log files
_LOG_AGAIN_SECONDS = 60.0
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class Shares(NamedTuple):
    """How many connections each listener may hold open."""

    guests: int
    operators: int


def raise_limit() -> None:
    """Raise the soft limit on open descriptors to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # an unlimited hard limit may be more than the kernel allows
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_limit() -> int | None:
    """The soft limit on open descriptors; None if there is none."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def share(most_guests: int, most_operators: int, limit: int | None) -> Shares:
    """Divide the descriptors: at most a quarter for operators, a quarter for ourselves, the rest for guests."""
    if limit is None:
        return Shares(most_guests, most_operators)
    operators = max(1, min(most_operators, limit // 4))
    own = min(_OWN_DESCRIPTORS, limit // 4)
    return Shares(max(1, min(most_guests, limit - operators - own)), operators)


def is_exhaustion(problem: OSError) -> bool:
    """Whether a call failed because the process or the system has no descriptor or buffer left."""
    return problem.errno in _EXHAUSTED


class ExhaustionLog:
    """Logs that descriptors have run out, at most once a minute."""

    def __init__(self, listener: str, now: Callable[[], float]) -> None:
        self._listener = listener
        self._now = now
        self._logged_at: float | None = None

    def probe(self) -> None:
        """Log if no descriptor can be opened now; an event loop may drop connections without saying so."""
        try:
            os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as problem:
            if is_exhaustion(problem):
                self.note(problem)

    def note(self, problem: OSError) -> None:
        """Log this failure unless one was logged within the last minute."""
        now = self._now()
        if self._logged_at is None or now - self._logged_at >= _LOG_AGAIN_SECONDS:
            self._logged_at = now
            log.error(
                "file descriptors exhausted",
                listener=self._listener,
                problem=problem.strerror,
                limit=open_limit(),
                hint="raise the limit: ulimit -n, or LimitNOFILE= in the unit",
            )
