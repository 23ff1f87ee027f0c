"""Lines of log about cases: each with the event, its type and how far it is."""

from __future__ import annotations

import logging

from forewarn.agent.case import Case
from forewarn.agent.profiles import Profiles
from forewarn.agent.standing import phase_of

log = logging.getLogger("forewarn.agent")


class Reporter:
    """Says what happens to cases."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles

    def say_what_the_file_lacks(self, case: Case) -> None:
        """At the start: the steps that were done for a case, and that its profile does not have."""
        profile = self._profiles.of(case)
        where = f"profile {case.profile}"
        if (profile.bygone or profile.forgotten) and case.profile not in self._profiles.said:
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
        phase = phase_of(case, self._profiles.of(case))
        log.log(level, what, extra={"event": case.id, "type": case.event.type, "phase": phase.value, **named})
