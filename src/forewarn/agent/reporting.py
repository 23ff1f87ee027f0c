"""Lines of log about cases: each with the event, its type and how far it is."""

from __future__ import annotations

import logging

from forewarn.agent.case import Case
from forewarn.agent.policy import Policy
from forewarn.agent.standing import phase_of
from forewarn.agent.superseded import profile_of

log = logging.getLogger("forewarn.agent")


class Reporter:
    """Says what happens to cases."""

    def say_what_is_kept(self, case: Case, policy: Policy) -> None:
        """At the start: whether a case goes on by an earlier file, and what of that cannot be run."""
        if not case.policy.covers(policy) and (case.runs or case.is_open):
            hint = f"forewarn agent reset {case.id}" if case.is_open and case.started_at is None else None
            self.say(case, "event keeps earlier configuration", profile=case.profile, hint=hint)
        profile = profile_of(case)
        for step in (*profile.superseded, *profile.steps):
            if step.missing:
                self.say(case, "step unrecoverable", logging.ERROR, step=step.name, why=step.missing)

    def say(self, case: Case, what: str, level: int = logging.INFO, **fields: object) -> None:
        """Log one line about a case; fields that are None are left out."""
        named = {name: value for name, value in fields.items() if value is not None}
        phase = phase_of(case, profile_of(case))
        log.log(level, what, extra={"event": case.id, "type": case.event.type, "phase": phase.value, **named})
