"""Lines of log about cases: each with the event, its type and how far it is."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from forewarn.agent.bygone import with_bygone
from forewarn.agent.case import Case
from forewarn.agent.policy import LOG_ONLY, Profile
from forewarn.agent.standing import phase_of

log = logging.getLogger("forewarn.agent")


class Reporter:
    """Says what happens to cases."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles

    def profile_of(self, case: Case) -> Profile:
        """What the case is met with, and what was done for it by steps that the file does not have any more."""
        return with_bygone(case, self._profiles.get(case.profile, LOG_ONLY), self._profiles)

    def say_what_the_file_lacks(self, case: Case) -> None:
        """At the start: the steps that were done for a case, and are not in the file any more."""
        profile = self.profile_of(case)
        where = f"profile {case.profile}"
        if (profile.bygone or profile.forgotten) and case.profile not in self._profiles:
            self.say(case, f"there is no profile {case.profile} any more", logging.WARNING)
        for step in profile.bygone:
            if step.has_undo:
                words = f"step {step.name} is not in {where} any more: it will be undone as it was done"
                self.say(case, words, logging.WARNING, handler=step.uses)
        for name in profile.forgotten:
            words = (
                f"step {name} is not in {where} any more, and cannot be undone: put it back, or see to it by hand"
            )
            self.say(case, words, logging.ERROR)

    def say(self, case: Case, what: str, level: int = logging.INFO, **fields: object) -> None:
        """One line about a case; fields that are None are left out."""
        named = {name: value for name, value in fields.items() if value is not None}
        phase = phase_of(case, self.profile_of(case))
        log.log(level, what, extra={"event": case.id, "type": case.event.type, "phase": phase.value, **named})
