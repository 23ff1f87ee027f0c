"""What the agent sees: answers of the endpoint, the lack of them, and who this VM is.

For the keeper's thread only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from forewarn.agent import sightings
from forewarn.agent.absence import Doubt
from forewarn.agent.case import Case
from forewarn.agent.common import Common
from forewarn.agent.compat import dataclass
from forewarn.agent.events import Sighting
from forewarn.agent.names import Names
from forewarn.agent.policy import Policy
from forewarn.agent.scene import View
from forewarn.agent.settings import Settings
from forewarn.agent.standing import Standing
from forewarn.agent.watching import Trouble

_NAME_SECONDS = 5.0  # from the first answer

log = logging.getLogger("forewarn.agent")


@dataclass(frozen=True, slots=True)
class Told:
    """Who is told of what is seen."""

    standing: Standing
    look_again: Callable[[float], None]  # in so many seconds
    forget_attempts: Callable[[str], None]  # of an event: the next ones are of another life


class Eyes:
    """Turns what is seen into cases."""

    def __init__(self, common: Common, settings: Settings, names: Names, told: Told, policy: Policy) -> None:
        self._clock = common.clock
        self._book = common.book
        self._say = common.reporter.say
        self._metrics = common.metrics
        self._names = names
        self._standing = told.standing
        self._look_again = told.look_again
        self._forget_attempts = told.forget_attempts
        self._viewpoint = sightings.Viewpoint(
            boot=common.boot,
            watched_within=settings.longest_look,
            apart_seconds=settings.apart_seconds,
            which=names.which,
            policy=policy,
            view=View(common.boot, settings.fresh_within),
        )
        self._back: frozenset[str] = frozenset()  # events that are there again, before their cases were closed
        self._last: Sighting | None = None  # that was noted
        self._missing: frozenset[str] = frozenset()  # not in the last answer, which may mean that they are gone
        self._doubts: Mapping[str, Doubt] = {}  # what answers say against some of them
        self._unseen = {case.id for case in self._book.unclosed() if case.is_open}  # by this agent, so far
        self._oddities: frozenset[str] = frozenset()  # of the last answer; they are said once
        self._is_named = False
        self._unnamed: Sighting | None = None  # the last one that came before the name was known
        self._unnamed_since: float | None = None

    def see(self, sighting: Sighting) -> None:
        """A good answer has come."""
        standing = self._standing
        standing.good_at = self._clock.monotonic()
        self._metrics.count("polls")
        if sighting.took_seconds is not None:
            self._metrics.observe_request(sighting.took_seconds)
        if standing.trouble is not None:
            log.info("the endpoint answers again", extra={"endpoint": sighting.endpoint})
            standing.trouble = None
        if not self._is_named and not self._has_waited_for_name():
            self._unnamed = sighting  # whose events these are is not known yet
            return
        is_idle = sighting.is_unchanged and not sighting.document.events
        if is_idle and not any(True for _ in self._book.unclosed()):
            return
        self._note_sighting(sighting)

    def _has_waited_for_name(self) -> bool:
        """Whether the name has been waited for long enough: a notice may be short, and other names may do."""
        now = self._clock.monotonic()
        self._unnamed_since = self._unnamed_since or now
        if now - self._unnamed_since < _NAME_SECONDS:
            return False
        self.note_name("")
        return True

    def _note_sighting(self, sighting: Sighting) -> None:
        document = sighting.document
        if document.incarnation is not None:
            self._standing.incarnation = document.incarnation
        oddities = frozenset((*document.oddities, *document.repeated))
        for oddity in sorted(oddities - self._oddities):
            log.warning("the endpoint's answer has %s", oddity)
        self._oddities = oddities
        others = self._book.acted_on()
        notes = sightings.note(self._book.cases, self._doubts, sighting, self._viewpoint, others)
        self._missing, self._doubts, self._back, self._last = notes.missing, notes.doubts, notes.back, sighting
        self._unseen -= {noted.case.id for noted in notes.noted}
        if notes.look_after is not None:
            self._look_again(notes.look_after)
        for noted in notes.noted:
            self._keep(noted)
        self._book.note_first_look()

    def take_up_what_is_back(self) -> None:
        """Begin the next life of events that came back, once nothing is under way any more for their end."""
        if self._last is None or not self._back:
            return
        for event in self._last.document.events:
            if event.id not in self._back:
                continue
            others = self._book.acted_on()
            noted = sightings.note_event(self._book.cases[event.id], event, self._last, self._viewpoint, others)
            if noted is not None:
                self._back -= {event.id}
                self._keep(noted)

    def is_back(self, case: Case) -> bool:
        """Whether its event is there again, and what is under way for its end is waited for."""
        return case.id in self._back

    def _keep(self, noted: sightings.Noted) -> None:
        what, case = noted.what, noted.case
        if what is sightings.Meaning.STILL_THERE:
            self._book.note_seen(case)
            return
        before = self._book.cases.get(case.id)
        if what is sightings.Meaning.APPEARED:
            case = replace(case, held_by=self._book.doubt_of(case.id))
        self._tell(noted)
        if before is not None:
            self._tell_of_words(before, case)
        if what is sightings.Meaning.RETURNED:
            self._forget_attempts(case.id)
        keep = self._book.note_new if what is sightings.Meaning.APPEARED else self._book.note
        keep(case)

    def _tell_of_words(self, before: Case, case: Case) -> None:
        """What becomes of what was said and chosen for the event as it was."""
        if before.told_to_approve_by and not case.told_to_approve_by:
            why = "the event is for another type or for other VMs now"
            self._say(case, "operator's approval is void", logging.WARNING, by=before.told_to_approve_by, why=why)
        if before.profile != case.profile:
            self._say(case, "event is met with another profile now", instead_of=before.profile, why=case.why)

    def _tell(self, noted: sightings.Noted) -> None:
        case = noted.case
        event = case.event
        level = logging.WARNING if noted.what is sightings.Meaning.RETURNED else logging.INFO
        self._say(
            case,
            f"event {case.ending or noted.what}",
            level,
            status=event.status,
            resources=" ".join(event.resources),
            not_before=event.not_before.isoformat() if event.not_before else None,
            source=event.source or None,
            vm=case.vm or "not this one",
            profile=case.profile,
            why=case.why,
        )

    def note_trouble(self, trouble: Trouble) -> None:
        """No good answer has come."""
        last, self._standing.trouble = self._standing.trouble, trouble
        self._metrics.count("poll_errors", kind=trouble.kind)
        if trouble.is_blind and not (last and last.is_blind):
            log.error(
                "blind: %s", trouble.message, extra={"since": trouble.since.isoformat(), "kind": trouble.kind}
            )
        elif last is None or last.kind != trouble.kind:
            log.warning("no good answer: %s", trouble.message, extra={"kind": trouble.kind})

    def note_name(self, name: str) -> None:
        """Who this VM is; empty: the other names have to do."""
        self._names.learn(name)
        self._standing.names = self._names.known
        log.info("this VM is %s", " or ".join(self._names.known) or "not named")
        self._is_named = True
        for case in list(self._book.unclosed()):
            if case.is_open:
                self._judge_anew(case, is_named=bool(name))
        waiting, self._unnamed = self._unnamed, None
        if waiting is not None:
            self._note_sighting(waiting)

    def _judge_anew(self, case: Case, *, is_named: bool) -> None:
        """By the names that this agent knows, which may not be those of the one that wrote the journal."""
        judged = sightings.judge_anew(case, self._viewpoint, is_named=is_named)
        if judged != case:
            self._tell_of_words(case, judged)
            self._book.note(judged)

    def is_certain(self, case: Case) -> bool:
        """Whether it is known that the event is there, or gone. In between nothing is begun, nor approved."""
        return not case.is_open or (case.id not in self._missing and case.id not in self._unseen)
