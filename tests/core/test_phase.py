"""The table of transitions: which step may follow which."""

from __future__ import annotations

from itertools import product

import pytest

from forewarn.core.phase import TRANSITIONS, Phase, Step, after
from forewarn.core.refusal import IllegalStep
from tests.core.worlds import row

STEPS = list(product([None, *Phase], Step))


@pytest.mark.parametrize(
    ("phase", "step", "then"),
    [
        row("an announcement schedules", None, Step.ANNOUNCE, Phase.SCHEDULED),
        row("what needs no notice is born started", None, Step.BORN_STARTED, Phase.STARTED),
        row("what is scheduled may start", Phase.SCHEDULED, Step.START, Phase.STARTED),
        row("what is scheduled may be cancelled", Phase.SCHEDULED, Step.CANCEL, Phase.CANCELLED),
        row("what has started may complete", Phase.STARTED, Step.COMPLETE, Phase.COMPLETED),
        row("what has started may fail", Phase.STARTED, Step.FAIL, Phase.FAILED),
    ],
)
def test_a_step_leads_to_the_next_phase(phase: Phase | None, step: Step, then: Phase):
    assert after(phase, step, of="it") is then


def test_there_are_no_other_steps():
    assert len(TRANSITIONS) == 6


@pytest.mark.parametrize(("phase", "step"), [each for each in STEPS if each not in TRANSITIONS])
def test_every_other_step_is_illegal_and_says_what_and_where(phase: Phase | None, step: Step):
    with pytest.raises(IllegalStep) as caught:
        after(phase, step, of="event 4f1c9a02")

    assert [name for name in ("event 4f1c9a02", phase or "not there", step) if name not in str(caught.value)] == []


def test_guests_see_what_is_scheduled_or_started():
    assert [phase for phase in Phase if phase.is_open] == [Phase.SCHEDULED, Phase.STARTED]


def test_no_phase_is_left_towards_one_before_it():
    order = list(Phase)

    assert all(phase is None or order.index(phase) < order.index(then) for (phase, _), then in TRANSITIONS.items())


def test_nothing_follows_an_end():
    assert not [phase for phase, _ in TRANSITIONS if phase is not None and not phase.is_open]
