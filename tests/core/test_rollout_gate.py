"""The gate between waves: a wave begins when the one before it has soaked and is well."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from forewarn.core.health import NotYet
from forewarn.core.rollout import Turn
from forewarn.core.rollout_course import HEALTH_EVERY
from forewarn.core.terms import VmState
from forewarn.core.world import World
from tests.core.rollouts import (
    HOSTS,
    SECOND,
    VMS,
    announced,
    waits,
)
from tests.core.worlds import (
    NOON,
    Part,
    at,
    availability_set,
    done_turn,
    down,
    look_at,
    maintain,
    minutes,
    open_turn,
    rollout,
    row,
    stopped,
    turn,
    vm,
    world,
)

# The gate: a wave begins when the one before it has soaked and is well.

PAST = done_turn("h1", "web-1", "vm-1", ended=-5, domains=("web#1",))
GATED = (*HOSTS, availability_set("web"), vm("web-1", "h1", "web", 1), vm("vm-1", "h1"), *VMS[1:])
ILL = "503"


def saying(verdict: str | None) -> dict[str, Callable[[str, datetime], str | None]]:
    return {"answers": lambda _set, _since: verdict}


def gate(*parts: Part, past: Turn = PAST, **more: Any) -> World:
    named = {each.name for each in parts if hasattr(each, "state")}
    fleet = [each for each in GATED if each.name not in named]
    return world(*fleet, *parts, rollout(past, turn("h2", 1), **more))


@pytest.mark.parametrize(
    ("found", "verdict", "expected"),
    [
        row("a wave that is well lets the next begin", gate(), None, {"h2": 15}),
        row("a soak that is over does too", gate(soak=minutes(5)), None, {"h2": 15}),
        row("a soak that is not over does not", gate(soak=minutes(6)), None, {}),
        row("a VM that is down does not", gate(down("vm-1", "h1")), None, {}),
        row("a VM that is off does", gate(stopped("vm-1", "h1")), None, {"h2": 15}),
        row("a VM that is gone does", gate(vm("vm-1", "h1", state=VmState.DELETED)), None, {"h2": 15}),
        row("a check that is not passed does not", gate(), ILL, {}),
        row("a check that has not answered does not", gate(), NotYet(ILL), {}),
        row("somebody who resumes it anyway does", gate(waived_wave=1), ILL, {"h2": 15}),
        row("who waived an earlier wave does not", gate(waived_wave=0), ILL, {}),
        row(
            "a wave that has begun is not held any more",
            world(*GATED, rollout(PAST, open_turn(maintain("h2"), 1), turn("h3", 1))),
            ILL,
            {"h3": 15},
        ),
        row(
            "a wave of which somebody is done is not held any more",
            world(*GATED, rollout(PAST, done_turn("h2", "vm-2", ended=-1, wave=1), turn("h3", 1))),
            ILL,
            {"h3": 15},
        ),
        row("the first wave is not held", world(*GATED, rollout(turn("h1"))), ILL, {"h1": 15}),
        row(
            "a wave after one that touched nobody is not held",
            gate(past=done_turn("h1", ended=-5)),
            ILL,
            {"h2": 15},
        ),
    ],
)
def test_at_the_gate(found: World, verdict: str | None, expected: dict[str, float]):
    assert announced(found, **saying(verdict)) == expected


def test_a_soak_is_waited_for_before_any_check_is_asked():
    asked: list[str] = []
    (wait,) = look_at(gate(soak=minutes(6)), lambda name, _: asked.append(name)).waits

    assert (wait.until, asked) == (at(1), [])
    assert "12:01:00Z" in wait.words


def test_the_check_of_each_set_is_asked_once_and_since_the_end_of_the_wave():
    asked: list[tuple[str, datetime]] = []
    found = world(
        *GATED,
        vm("web-2", "h2", "web", 1),
        rollout(
            done_turn("h1", "web-1", "vm-1", ended=-5),
            done_turn("h2", "web-2", ended=-3),
            turn("h3", 1),
        ),
    )
    look_at(found, lambda name, since: asked.append((name, since)))

    assert asked == [("web", at(-3))]


def test_no_check_is_asked_for_a_vm_that_is_down_or_in_no_set():
    asked: list[str] = []
    outlook = look_at(gate(down("web-1", "h1", "web", 1)), lambda name, _: asked.append(name))

    assert asked == []
    assert "web-1" in outlook.waits[0].words


def test_only_the_last_wave_before_is_asked_about():
    old = done_turn("h1", "web-1", ended=-50)
    found = world(*GATED, rollout(old, done_turn("h2", "vm-2", ended=-5, wave=1), turn("h3", 2)))

    assert announced(found, **saying(ILL)) == {"h3": 15}


@pytest.mark.parametrize(
    ("found", "until"),
    [
        row("a moment at a time", gate(), NOON + HEALTH_EVERY),
        row("no longer than its limit", gate(health_wait=minutes(5) + 2 * SECOND), NOON + 2 * SECOND),
        row(
            "again from when somebody resumed it",
            gate(health_wait=minutes(1), resumed_at=at(-0.5)),
            NOON + HEALTH_EVERY,
        ),
        row("from the end of the soak", gate(soak=minutes(4.5), health_wait=minutes(1)), NOON + HEALTH_EVERY),
    ],
)
def test_an_unhealthy_wave_is_waited_for(found: World, until: datetime):
    outlook = look_at(found, **saying(ILL))
    (wait,) = outlook.waits

    assert wait.until == until
    assert ILL in wait.words
    assert not outlook.pause_because


@pytest.mark.parametrize(
    ("found", "verdict", "pauses"),
    [
        row("pauses the rollout when its time is up", gate(health_wait=minutes(5)), ILL, True),
        row(
            "pauses it a while after somebody resumed it",
            gate(health_wait=minutes(5), resumed_at=at(-5)),
            ILL,
            True,
        ),
        row(
            "pauses it if more are ill than may be",
            gate(health_wait=minutes(5), max_unhealthy_percent=49),
            ILL,
            True,
        ),
        row(
            "does not if as many are ill as may be",
            gate(health_wait=minutes(5), max_unhealthy_percent=50),
            ILL,
            False,
        ),
        row(
            "pauses it if nothing is known but that VMs are down",
            gate(down("vm-1", "h1"), health_wait=minutes(5)),
            None,
            True,
        ),
        row("does not while checks are still to be asked", gate(health_wait=minutes(5)), NotYet(ILL), False),
        row(
            "pauses it if enough are ill whatever the checks say that are still to be asked",
            gate(down("vm-1", "h1"), health_wait=minutes(5)),
            NotYet(ILL),
            True,
        ),
        row(
            "does not if so few may be ill that the checks decide it",
            gate(down("vm-1", "h1"), health_wait=minutes(5), max_unhealthy_percent=50),
            NotYet(ILL),
            False,
        ),
    ],
)
def test_an_unhealthy_wave(found: World, verdict: str | None, *, pauses: bool):
    outlook = look_at(found, **saying(verdict))

    assert bool(outlook.pause_because) is pauses
    assert not (pauses and outlook.announce)


def test_a_wave_of_which_few_enough_are_ill_lets_the_next_begin_when_its_time_is_up():
    assert announced(gate(health_wait=minutes(5), max_unhealthy_percent=50), **saying(ILL)) == {"h2": 15}


def test_checks_that_are_still_to_be_asked_are_waited_for_beyond_the_limit():
    assert waits(gate(health_wait=minutes(1)), **saying(NotYet(ILL))) == [NOON + HEALTH_EVERY]


@pytest.mark.parametrize(
    ("ill", "named", "unnamed"),
    [
        row("three of many", 5, ["5 of 6", "down-1", "down-3", "and 2 more"], ["down-4"]),
        row("exactly three", 3, ["3 of 4", "down-1", "down-3"], ["more", "down-4"]),
    ],
)
def test_the_reason_of_an_unhealthy_wave_gives_the_share_and_reasons(
    ill: int, named: list[str], unnamed: list[str]
):
    vms = [down(f"down-{n}", "h1") for n in range(1, ill + 1)]
    past = done_turn("h1", *(each.name for each in vms), "vm-2", ended=-5)
    found = world(*HOSTS, *vms, VMS[1], rollout(past, turn("h2", 1), health_wait=minutes(5)))
    because = look_at(found).pause_because

    assert [name for name in named if name not in because] == []
    assert [name for name in unnamed if name in because] == []


def test_a_reason_that_several_vms_share_is_given_once():
    found = gate(
        vm("web-2", "h1", "web", 1), past=done_turn("h1", "web-1", "web-2", ended=-5), health_wait=minutes(5)
    )

    assert look_at(found, **saying(ILL)).pause_because.count(ILL) == 1
