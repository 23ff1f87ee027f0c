"""The audit record: a line of JSON for each event that is over. What, when, how long, by whom, what came of it."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from forewarn.agent.case import Case, Consent, Outcome
from forewarn.agent.metrics import phases_of
from forewarn.agent.ownership import Untrusted, own_user, resolve
from forewarn.agent.policy import Profile

_TAIL_BYTES = 256 * 1024
_MOST_WRITTEN = 2000  # lives that are remembered
_AT_ONCE = sum(getattr(os, each, 0) for each in ("O_NONBLOCK", "O_NOCTTY", "O_NOFOLLOW", "O_BINARY"))

log = logging.getLogger("forewarn.agent")


def record_of(case: Case, profile: Profile) -> dict[str, Any]:
    """All that is to be remembered of a case."""
    event = case.event
    return {
        "event": case.id,
        "type": event.type,
        "source": event.source,
        "description": event.description,
        "resources": list(event.resources),
        "vm": case.vm,
        "not_before": _iso(case.not_before),
        "duration_seconds": event.duration_seconds,
        "profile": case.profile,
        "why": case.why,
        "first_seen_at": _iso(case.first_seen_at),
        "prepared_at": _iso(case.prepared_at),
        "approved_by": case.approved_by or None,
        "approved_at": _iso(case.consent_at) if case.consent is Consent.GIVEN else None,
        "approval": case.consent,  # "asked": sent, and the endpoint did not say that it has taken it
        "asked_by": case.consent_by or None,
        "approval_tries": case.consent_tries,
        "started_at": _iso(case.started_at),
        "ended_at": _iso(case.ended_at),
        "ending": case.ending,
        "closed_at": _iso(case.closed_at),
        "seconds": {phase: round(seconds, 3) for phase, seconds in phases_of(case, profile)},
        "steps": [
            {
                "step": step,
                "direction": direction,
                "outcome": run.outcome,
                "tries": run.tries,
                "begun_at": _iso(run.begun_at),
                "seconds": round((run.ended_at - run.begun_at).total_seconds(), 3) if run.ended_at else None,
                "note": run.note,
            }
            for (step, direction), run in case.runs.items()
        ],
        "is_all_well": all(run.outcome is not Outcome.FAILED for run in case.runs.values()),
    }


class Audit:
    """The file. What cannot be written there is in the log."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._written: dict[tuple[str, str], None] | None = None  # which lives; None: not looked yet

    def write(self, case: Case, profile: Profile) -> None:
        """Add a case's record, unless an agent that ended right after that has done so."""
        if self._path is None:
            return
        record = record_of(case, profile)
        life = (case.id, record["first_seen_at"])
        try:
            if self._written is None:
                self._written = dict.fromkeys(_lives_in(self._path))
            if life not in self._written:
                # What happens to others alone need not outlive a crash of the machine.
                _append(self._path, json.dumps(record, ensure_ascii=False), is_lasting=case.is_mine)
            self._written[life] = None
            if len(self._written) > _MOST_WRITTEN:
                del self._written[next(iter(self._written))]
        except OSError as problem:
            log.error(  # noqa: TRY400 - the sentence is all there is to say
                "The audit record cannot be written to %s: %s. It is: %s",
                self._path,
                problem,
                json.dumps(record),
                extra={"event": case.id},
            )


def _lives_in(path: Path) -> Iterator[tuple[str, str]]:
    """Of which lives of which events the last lines tell."""
    try:
        with _opened(path, os.O_RDONLY) as file:
            os.lseek(file, max(0, os.fstat(file).st_size - _TAIL_BYTES), os.SEEK_SET)
            lines = os.read(file, _TAIL_BYTES).splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with suppress(ValueError, KeyError, TypeError, RecursionError):  # it was cut short, or is not ours
            said = json.loads(line)
            yield str(said["event"]), str(said["first_seen_at"])


def _append(path: Path, line: str, *, is_lasting: bool) -> None:
    """Add a line, whole or not at all."""
    with _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as file:
        size = os.fstat(file).st_size
        os.lseek(file, max(0, size - 1), os.SEEK_SET)
        # A line that was cut short by a crash is ended, so that this one stands alone.
        is_cut = size > 0 and os.read(file, 1) != b"\n"
        left = f"{chr(10) if is_cut else ''}{line}\n".encode()
        written = 0
        try:
            while left:
                count = os.write(file, left)
                left, written = left[count:], written + count
        except OSError:
            # A disk that has no more room takes what fits. If nobody has added anything, that is taken back.
            if written and os.fstat(file).st_size == size + written:
                os.ftruncate(file, size)
            raise
        if is_lasting:
            os.fsync(file)


@contextmanager
def _opened(path: Path, how: int) -> Iterator[int]:
    """The file, opened without waiting for anybody. What is none, as a pipe, would hold up whoever writes."""
    try:
        file = os.open(resolve(path, own_user()), how | _AT_ONCE, 0o640)
    except Untrusted as problem:
        raise PermissionError(str(problem)) from problem
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError("it is a pipe, a device or the like, and no file")
        yield file
    finally:
        os.close(file)


def _iso(instant: datetime | None) -> str | None:
    return instant.isoformat() if instant is not None else None
