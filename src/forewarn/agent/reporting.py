"""Lines of log about cases: each with the event, its type and how far it is."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from forewarn.agent.bygone import with_bygone
from forewarn.agent.case import Case, Runs
from forewarn.agent.policy import LOG_ONLY, Profile
from forewarn.agent.standing import phase_of

log = logging.getLogger("forewarn.agent")


class Reporter:
    """Says what happens to cases."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles
        self._known: dict[str, tuple[Runs, Profile, str, Profile]] = {}  # by event: of what it was made, and it

    def profile_of(self, case: Case) -> Profile:
        """What the case is met with, and what was done for it by steps that its profile does not have."""
        profile = self._profiles.get(case.profile, LOG_ONLY)
        if case.closed_at is not None or not case.runs:
            self._known.pop(case.id, None)
            return with_bygone(case, profile, self._profiles)
        # Asked for every line of log and at every look. The runs of a case are never changed, only put in place.
        known = self._known.get(case.id)
        if known is None or known[0] is not case.runs or known[1] is not profile or known[2] != case.event.type:
            known = case.runs, profile, case.event.type, with_bygone(case, profile, self._profiles)
            self._known[case.id] = known
        return known[3]

    def say_what_the_file_lacks(self, case: Case) -> None:
        """At the start: the steps that were done for a case, and that its profile does not have."""
        profile = self.profile_of(case)
        where = f"profile {case.profile}"
        if (profile.bygone or profile.forgotten) and case.profile not in self._profiles:
            self.say(case, f"there is no profile {case.profile} any more", logging.WARNING)
        for step in profile.bygone:
            if step.has_undo:
                is_edited = any(each.name == step.name for each in profile.steps)
                lack = f"is another in {where} now" if is_edited else f"is not in {where}"
                words = f"step {step.name} {lack}: it will be undone as it was done"
                self.say(case, words, logging.WARNING, handler=step.uses)
        for name in profile.forgotten:
            words = (
                f"step {name} is not in {where}, and how it is undone is not known: "
                "put a step that does the same into the file, or see to it by hand"
            )
            self.say(case, words, logging.ERROR)

    def say(self, case: Case, what: str, level: int = logging.INFO, **fields: object) -> None:
        """One line about a case; fields that are None are left out."""
        named = {name: value for name, value in fields.items() if value is not None}
        phase = phase_of(case, self.profile_of(case))
        log.log(level, what, extra={"event": case.id, "type": case.event.type, "phase": phase.value, **named})
