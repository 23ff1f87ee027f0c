"""Planted bugs about owners' limits, a NotBefore that is moved, and waiting for a host. See planted.py."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

from forewarn.control.commit import Committed
from forewarn.control.plane import ControlPlane
from forewarn.core import holds, steps
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.phase import Phase
from forewarn.core.requests import degraded, lateness, postpone
from forewarn.core.world import Changes, World
from tests.simulation import requests


def nothing_committed(plane: ControlPlane) -> Committed:
    """What a command answers that had nothing to change."""
    return Committed(Changes(plane.world.number))


def overlooks_minimums() -> list[object]:
    return [patch.object(holds, "_minimums", lambda *_: iter(()))]


def pulls_too_near() -> list[object]:
    real = degraded.notice_ends
    return [patch.object(degraded, "notice_ends", lambda now, notice: real(now, notice * 0.5))]


def forgets_that_a_move_was_never_shown() -> list[object]:
    real = lateness.make_up_for_lateness

    def make_up(draft, late, shown, limits):
        unmoved = [replace(each, moved_in=0) if isinstance(each, Event) else each for each in late]
        real(draft, unmoved, shown, limits)

    return [patch.object(lateness, "make_up_for_lateness", make_up)]


def postpones_to_sooner() -> list[object]:
    def postpone_(draft, event, asked, limits):
        sooner = draft.now + (event.lapses_at - draft.now) * 0.9
        draft.put(replace(steps.move(draft, event, sooner.replace(microsecond=0)), postponed_by=draft.actor))

    return [patch.object(postpone, "postpone", postpone_)]


def says_postponed_and_forgets() -> list[object]:
    real = requests.postpone_event

    def forget(plane, event, asked, actor):
        draft, found = Draft(plane.world, plane.clock.now(), actor), plane.world.events.get(event)
        if found is not None and postpone.postpone(draft, found, asked, plane.limits) is None:
            return nothing_committed(plane)
        return real(plane, event, asked, actor)

    return [patch.object(requests, "postpone_event", forget)]


def says_cancelled_and_forgets() -> list[object]:
    real = requests.cancel_operation

    def cancel(plane, operation, actor):
        found = plane.world.operations.get(operation)
        if found is not None and found.phase is Phase.SCHEDULED:
            return nothing_committed(plane)
        return real(plane, operation, actor)

    return [patch.object(requests, "cancel_operation", cancel)]


def forgets_who_waits_for_a_host() -> list[object]:
    return [patch.object(World, "restores", lambda _: iter(()))]
