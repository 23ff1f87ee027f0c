"""Scopes that nobody asks for any more are turned off; those whose guests were answered meanwhile stay on."""

from __future__ import annotations

from forewarn.control.commit import CommandTarget
from forewarn.control.polls import PollLedger
from forewarn.core.draft import Draft
from forewarn.core.requests import notices


def turn_off_the_silent(plane: CommandTarget, polls: PollLedger, actor: str) -> None:
    """Take in who has polled, and turn off the scopes that have been silent for too long."""
    polls.collect()
    _turn_on_the_missed(plane, polls, actor)
    known = plane.world.scopes
    silent = [scope for scope in polls.take_silent() if scope in known and known[scope].is_on]
    if not silent:
        return

    def write(draft: Draft) -> None:
        for scope in silent:
            notices.turn_off(draft, scope, plane.limits.silence)

    try:
        plane.commit(actor, write)
    except BaseException:
        polls.ask_again(silent)
        raise
    polls.collect()
    _turn_on_the_missed(plane, polls, actor)


def _turn_on_the_missed(plane: CommandTarget, polls: PollLedger, actor: str) -> None:
    """Guests that were answered while their scope was being turned off: it is on."""
    missed = [scope for scope in polls.missed if scope in plane.world.scopes]
    if missed:

        def write(draft: Draft) -> None:
            for scope in missed:
                notices.turn_on(draft, scope, actor, plane.limits)

        plane.commit(actor, write)
    polls.missed.clear()
