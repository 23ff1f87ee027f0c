"""The cases, as the keeper has them in mind, and as they are on the disk. For the keeper's thread only."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from forewarn.agent.case import Case, Consent
from forewarn.agent.journal import Journal, JournalProblem
from forewarn.agent.metrics import Metrics
from forewarn.agent.policy import NO_POLICY, Policy
from forewarn.agent.policy_form import FindSecret, refuse_all

KEPT_FOR = timedelta(days=30)  # after a case is closed
_SEEN_IS_SAVED_EVERY = timedelta(seconds=15)

log = logging.getLogger("forewarn.agent")


class Book:
    """All cases. What changes is saved; what could not be saved is tried again."""

    def __init__(
        self,
        journal: Journal,
        metrics: Metrics,
        policy: Policy = NO_POLICY,
        find_secret: FindSecret = refuse_all,
    ) -> None:
        """Load the journal. `policy` is for cases of a journal that had none; `find_secret` reads references."""
        self._journal = journal
        self._metrics = metrics
        self._cases: dict[str, Case] = {}
        self._unclosed: dict[str, Case] = {}
        self._acted: dict[str, Case] = {}
        self._acted_in_order: list[Case] | None = None  # None: to be made anew
        self._unsaved: set[str] = set()
        self._later: set[str] = set()  # to be saved when the round is over, if nothing is done about them before
        for case in journal.load(policy, find_secret):
            self._put(case)
        self._is_after_a_loss = journal.is_after_a_loss
        self._has_looked_since = False
        self._seen_at = {case.id: case.last_seen_at for case in self._cases.values()}  # as it is on the disk
        for oddity in journal.oddities:
            log.error(oddity)
        if journal.upgraded:
            self._save(*journal.upgraded)

    def doubt_of(self, event: str) -> str:
        """Why nobody can know what was done for an event that is new here, and said of it; empty: nothing was."""
        if event in self._journal.unreadable:
            return "the journal, whose entry of it cannot be read"
        if self._is_after_a_loss and not self._has_looked_since:
            return "the journal, which was broken and begun anew"
        return ""

    def note_first_look(self) -> None:
        """All that is there has been noted: what comes later was not there when a journal was lost."""
        self._has_looked_since = True

    @property
    def cases(self) -> Mapping[str, Case]:
        """By their events' ids."""
        return self._cases

    def unclosed(self) -> Iterator[Case]:
        """Those with something left to do: open ones first, so that they are left what they want; and own ones."""
        yield from sorted(self._unclosed.values(), key=lambda case: (not case.is_open, not case.is_mine))

    def acted_on(self) -> list[Case]:
        """The unclosed ones for which a step was taken up, in the same order: only those can share an effect."""
        if self._acted_in_order is None:
            in_order = sorted(self._acted.values(), key=lambda case: (not case.is_open, not case.is_mine))
            self._acted_in_order = in_order
        return self._acted_in_order

    def save_first(self, case: Case) -> bool:
        """Whether the case is on the disk. If not it stays as it was: what it tells of must not be done."""
        if not self._save(case):
            return False
        self._put(case)
        return True

    def note(self, case: Case) -> None:
        """The case as it is now, whatever the disk says: it is a fact, and is saved as soon as that can be."""
        self._put(case)
        if _is_only_noted(case):
            self._later.add(case.id)
        else:
            self._save(case)

    def note_new(self, case: Case) -> None:
        """A case of which nothing is known but that it is there; it is on the disk after `save_noted`."""
        self._put(case)
        self._later.add(case.id)

    def note_seen(self, case: Case) -> None:
        """The case was seen once more; on the disk that need not be exact."""
        self._put(case)
        if case.last_seen_at - self._seen_at.get(case.id, case.first_seen_at) >= _SEEN_IS_SAVED_EVERY:
            self._later.add(case.id)

    def save_noted(self) -> None:
        """Save what was only noted, and not saved with something that was done about it: all of it at once."""
        if self._later:
            self._save(*(self._cases[event] for event in self._later))
        if self._is_after_a_loss and self._has_looked_since and not self._unsaved:
            self._forget_loss()

    def _forget_loss(self) -> None:
        try:
            self._journal.forget_loss()
        except JournalProblem as problem:
            log.error("%s", problem)  # noqa: TRY400 - the sentence is all there is to say
        else:
            self._is_after_a_loss = False

    def save_again(self) -> None:
        """Try to save what could not be."""
        if self._unsaved:
            self._save(*(self._cases[event] for event in self._unsaved))

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

    def _put(self, case: Case) -> None:
        self._cases[case.id] = case
        if case.runs or case.id in self._acted:
            self._acted_in_order = None
        for listed, belongs in ((self._unclosed, True), (self._acted, bool(case.runs))):
            if belongs and case.closed_at is None:
                listed[case.id] = case
            else:
                listed.pop(case.id, None)

    def _save(self, *cases: Case) -> bool:
        ids = {case.id for case in cases}
        try:
            self._journal.save(*cases)
        except JournalProblem as problem:
            if not self._unsaved:
                log.error(  # noqa: TRY400 - the same
                    "%s Nothing is begun or approved until then.", problem, extra={"event": cases[0].id}
                )
            self._metrics.count("journal_errors")
            self._unsaved |= ids & self._cases.keys()
            self._later -= ids
            return False
        self._unsaved -= ids
        self._later -= ids
        self._seen_at.update((case.id, case.last_seen_at) for case in cases)
        return True


def _is_only_noted(case: Case) -> bool:
    """Whether nothing was ever done or said here about it: an event of others, which the endpoint tells again."""
    is_untouched = case.consent is Consent.NONE and not (case.runs or case.told_to_approve_by or case.held_by)
    return is_untouched and not case.is_mine
