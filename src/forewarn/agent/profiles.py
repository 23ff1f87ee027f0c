"""What each case is met with. For the keeper's thread only."""

from __future__ import annotations

from collections.abc import Mapping

from forewarn.agent.bygone import with_bygone
from forewarn.agent.case import Case, Runs
from forewarn.agent.policy import LOG_ONLY, Profile


class Profiles:
    """The profiles of the file, each with what was done for a case by steps that it does not have."""

    def __init__(self, said: Mapping[str, Profile]) -> None:
        self.said = said
        self._known: dict[str, tuple[Runs, Profile, str, Profile]] = {}  # by event: of what it was made, and it

    def of(self, case: Case) -> Profile:
        """What the case is met with, and what was done for it by steps that its profile does not have."""
        profile = self.said.get(case.profile, LOG_ONLY)
        if case.closed_at is not None or not case.runs:
            self._known.pop(case.id, None)
            return with_bygone(case, profile, self.said)
        # Asked for every line of log and at every look. The runs of a case are never changed, only put in place.
        known = self._known.get(case.id)
        if known is None or known[0] is not case.runs or known[1] is not profile or known[2] != case.event.type:
            known = case.runs, profile, case.event.type, with_bygone(case, profile, self.said)
            self._known[case.id] = known
        return known[3]
