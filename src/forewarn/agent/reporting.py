"""Lines of log about cases: each with the event, its type and how far it is."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from forewarn.agent.case import Case
from forewarn.agent.policy import LOG_ONLY, Profile
from forewarn.agent.standing import phase_of

log = logging.getLogger("forewarn.agent")


class Reporter:
    """Says what happens to cases."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles

    def profile_of(self, case: Case) -> Profile:
        """What the case is met with. A profile that the file no longer has can do nothing, and undo nothing."""
        return self._profiles.get(case.profile, LOG_ONLY)

    def say(self, case: Case, what: str, level: int = logging.INFO, **fields: object) -> None:
        """One line about a case; fields that are None are left out."""
        named = {name: value for name, value in fields.items() if value is not None}
        phase = phase_of(case, self.profile_of(case))
        log.log(level, what, extra={"event": case.id, "type": case.event.type, "phase": phase.value, **named})
