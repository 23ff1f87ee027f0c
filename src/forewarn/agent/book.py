"""The cases, as the keeper has them in mind, and as they are on the disk. For the keeper's thread only."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from forewarn.agent.case import Case, Direction, Run
from forewarn.agent.journal import Journal, JournalProblem
from forewarn.agent.metrics import Metrics

KEPT_FOR = timedelta(days=30)  # after a case is closed
_SEEN_IS_SAVED_EVERY = timedelta(seconds=15)

log = logging.getLogger("forewarn.agent")


class Book:
    """All cases. What changes is saved; what could not be saved is tried again."""

    def __init__(self, journal: Journal, metrics: Metrics) -> None:
        self._journal = journal
        self._metrics = metrics
        self._cases = {case.id: case for case in journal.load()}
        self._unsaved: set[str] = set()
        self._fresh: set[str] = (
            set()
        )  # nothing was done about these yet: they are saved with what is done, or after
        self._seen_at = {case.id: case.last_seen_at for case in self._cases.values()}  # as it is on the disk
        for oddity in journal.oddities:
            log.error(oddity)

    @property
    def cases(self) -> dict[str, Case]:
        """By their events' ids."""
        return self._cases

    def unclosed(self) -> Iterator[Case]:
        """Those with something left to do; open ones first, so that they are left what they want."""
        left = [case for case in self._cases.values() if case.closed_at is None]
        yield from sorted(left, key=lambda case: not case.is_open)

    def save_first(self, case: Case) -> bool:
        """Whether the case is on the disk. If not it stays as it was: what it tells of must not be done."""
        if not self._save(case):
            return False
        self._cases[case.id] = case
        return True

    def note(self, case: Case) -> None:
        """The case as it is now, whatever the disk says: it is a fact, and is saved as soon as that can be."""
        self._cases[case.id] = case
        self._save(case)

    def note_new(self, case: Case) -> None:
        """A case of which nothing is known but that it is there; it is on the disk after `save_new`."""
        self._cases[case.id] = case
        self._fresh.add(case.id)

    def save_new(self) -> None:
        """Save what is new and was not saved with something that was done about it."""
        for event in list(self._fresh):
            self._save(self._cases[event])

    def note_seen(self, case: Case) -> None:
        """The case was seen once more; on the disk that need not be exact."""
        self._cases[case.id] = case
        if case.last_seen_at - self._seen_at.get(case.id, case.first_seen_at) >= _SEEN_IS_SAVED_EVERY:
            self._save(case)

    def save_again(self) -> None:
        """Try to save what could not be."""
        for event in list(self._unsaved):
            if not self._save(self._cases[event]):
                return

    @property
    def is_behind(self) -> bool:
        """Whether something is not on the disk yet."""
        return bool(self._unsaved)

    def purge(self, now: datetime) -> list[str]:
        """Forget what has been over for long; the events' ids."""
        try:
            gone = self._journal.purge(now - KEPT_FOR)
        except JournalProblem as problem:
            log.error("%s", problem)  # noqa: TRY400 - the sentence is all there is to say
            return []
        for event in gone:
            self._cases.pop(event, None)
            self._seen_at.pop(event, None)
        return gone

    def _save(self, case: Case) -> bool:
        self._fresh.discard(case.id)
        try:
            self._journal.save(case)
        except JournalProblem as problem:
            if not self._unsaved:
                log.error("%s Nothing is begun or approved until then.", problem, extra={"event": case.id})  # noqa: TRY400 - the same
            self._metrics.count("journal_errors")
            if case.id in self._cases:
                self._unsaved.add(case.id)
            return False
        self._unsaved.discard(case.id)
        self._seen_at[case.id] = case.last_seen_at
        return True


def with_run(case: Case, step: str, direction: Direction, run: Run) -> Case:
    """The case with a step's last attempt."""
    return replace(case, runs={**case.runs, (step, direction): run})
