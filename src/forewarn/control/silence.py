"""Scopes that nobody asks for any more are turned off; those whose guests were answered meanwhile stay on."""

from __future__ import annotations

from forewarn.control.requests import Requests
from forewarn.core.draft import Draft
from forewarn.core.requests import notices


def turn_off_the_silent(plane: Requests, actor: str) -> None:
    """Take in who has polled, and turn off the scopes that have been silent for too long."""
    plane.polls.collect()
    _turn_on_the_missed(plane, actor)
    known = plane.world.scopes
    silent = [scope for scope in plane.polls.take_silent() if scope in known and known[scope].is_on]
    if not silent:
        return

    def write(draft: Draft) -> None:
        for scope in silent:
            notices.turn_off(draft, scope, plane.rules.silence)

    try:
        plane.change(actor, write)
    except BaseException:
        plane.polls.ask_again(silent)
        raise
    plane.polls.collect()
    _turn_on_the_missed(plane, actor)


def _turn_on_the_missed(plane: Requests, actor: str) -> None:
    """Guests that were answered while their scope was being turned off: it is on."""
    missed = [scope for scope in plane.polls.missed if scope in plane.world.scopes]
    if missed:

        def write(draft: Draft) -> None:
            for scope in missed:
                notices.turn_on(draft, scope, actor, plane.rules)

        plane.change(actor, write)
    plane.polls.missed.clear()
