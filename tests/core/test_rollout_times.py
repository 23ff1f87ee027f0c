"""When a rollout announces its hosts: after recovery, and in its window."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

import pytest

from forewarn.core.rollout import TurnState
from forewarn.core.window import Window
from forewarn.core.world import World
from tests.core.rollouts import (
    FLEET,
    HOSTS,
    HOUR,
    OPEN_NOW,
    SECOND,
    SHUT,
    VMS,
    announced,
    in_window,
    turn_of,
    waits,
)
from tests.core.worlds import (
    NOON,
    at,
    availability_set,
    done_turn,
    look_at,
    maintain,
    minutes,
    open_turn,
    postponed_turn,
    rollout,
    row,
    started,
    turn,
    vm,
    world,
)

# Recovery of update domains. web-1 of update domain 1 on h1 was worked on; web-0 of update domain 0 is on h2.

WEB = (*HOSTS, availability_set("web"), vm("web-1", "h1", "web", 1), vm("web-0", "h2", "web", 0))


def after(ended: float, recovery: float = 30, **more: Any) -> World:
    past = done_turn("h1", "web-1", ended=ended, domains=("web#1",))
    return world(*WEB, rollout(past, turn("h2", 1), recovery=minutes(recovery), **more))


def test_another_update_domain_is_announced_to_start_when_the_first_has_recovered():
    assert announced(after(-15)) == {"h2": 15}
    assert announced(after(-20)) == {"h2": 15}
    assert announced(after(-15.005)) == {"h2": 15}  # notice is given in whole seconds


def test_another_update_domain_is_not_announced_before_its_notice_can_end_with_the_recovery():
    (wait,) = look_at(after(-5)).waits

    assert announced(after(-5)) == {}
    assert wait.until == at(10)
    assert [
        name for name in ("update domain 1 of web", "h2", "12:25:00Z", "12:10:00Z") if name not in wait.words
    ] == []


def test_a_recovery_in_less_than_a_second_more_than_the_notice_is_no_reason_to_wait():
    now = at(-0.01)

    assert look_at(after(-15), now=now).announce == [(turn_of(after(-15), "h2"), at(15))]


def test_hosts_behind_one_that_waits_for_a_recovery_wait_too():
    found = world(
        *WEB,
        vm("vm-3", "h3"),
        rollout(done_turn("h1", "web-1", ended=-5, domains=("web#1",)), turn("h2", 1), turn("h3", 1)),
    )

    assert announced(found) == {}
    assert len(waits(found)) == 1


@pytest.mark.parametrize(
    "found",
    [
        row(
            "the same update domain",
            world(
                *WEB,
                vm("web-2", "h3", "web", 1),
                rollout(done_turn("h1", "web-1", ended=-5, domains=("web#1",)), turn("h3", 1)),
            ),
        ),
        row(
            "hosts without a VM of the set",
            world(*WEB, VMS[3], rollout(done_turn("h1", "web-1", ended=-5, domains=("web#1",)), turn("h4", 1))),
        ),
    ],
)
def test_a_recovery_does_not_hold(found: World):
    assert list(announced(found).values()) == [15]


# Windows.


@pytest.mark.parametrize(
    ("found", "start"),
    [
        row("at the end of the notice if it is open then", in_window(time(12)), 15),
        row("when it opens if that is when the notice ends", in_window(time(12, 15)), 15),
        row("at the force-by date if that comes first", in_window(time(16), force_by=at(15)), 15),
        row("at the force-by date if it never opens", in_window(time(16), SECOND, force_by=at(15)), 15),
        row(
            "at the end of the notice once the force-by date has passed", in_window(time(16), force_by=at(-1)), 15
        ),
    ],
)
def test_work_is_announced_to_start_in_the_window(found: World, start: float):
    assert announced(found) == {"h1": start}


@pytest.mark.parametrize(
    ("found", "until", "named"),
    [
        row(
            "until its notice can end with the opening",
            in_window(time(13)),
            at(45),
            ["13:00:00Z", "12:45:00Z", "h1"],
        ),
        row(
            "until its notice can end with the force-by date",
            in_window(time(16), force_by=at(60)),
            at(45),
            ["force-by", "13:00:00Z"],
        ),
        row("for a window that never fits", in_window(time(13), SECOND), None, ["65 s"]),
        row(
            "until the next opening if the window closes too soon after the notice",
            in_window(time(12), minutes(16)),
            at(24 * 60 - 15),
            ["2026-03-03"],
        ),
    ],
)
def test_a_host_is_not_announced_before_the_window(found: World, until: datetime | None, named: list[str]):
    (wait,) = look_at(found).waits

    assert announced(found) == {}
    assert wait.until == until
    assert [name for name in named if name not in wait.words] == []


def withdrawn(found: World) -> list[str]:
    return [turn.host for turn, _ in look_at(found).withdraw]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "what is due and finds the window closed",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=SHUT)),
            ["h1"],
        ),
        row(
            "what was postponed and finds it closed too",
            world(*FLEET, rollout(postponed_turn(maintain("h1", due=0)), window=SHUT)),
            ["h1"],
        ),
        row(
            "not before its notice has run out",
            world(*FLEET, rollout(open_turn(maintain("h1", due=1)), window=SHUT)),
            [],
        ),
        row(
            "not while the window is open",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=OPEN_NOW)),
            [],
        ),
        row(
            "not what has started",
            world(*FLEET, rollout(open_turn(started(maintain("h1", due=0))), window=SHUT)),
            [],
        ),
        row("not without a window", world(*FLEET, rollout(open_turn(maintain("h1", due=0)))), []),
        row(
            "not from the force-by date on",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=SHUT, force_by=NOON)),
            [],
        ),
        row(
            "not before the last of its notices has run out",
            world(
                *HOSTS,
                vm("a", "h1"),
                vm("b", "h1"),
                rollout(open_turn(maintain("h1", due={"a": 0, "b": 1})), window=SHUT),
            ),
            [],
        ),
        row(
            "not a turn whose operation has ended",
            world(*FLEET, rollout(turn("h1", state=TurnState.OPEN, operation="gone"), window=SHUT)),
            [],
        ),
        row(
            "not where no VM is left to feel it",
            world(*HOSTS, rollout(open_turn(maintain("h1", due=0)), window=SHUT)),
            [],
        ),
    ],
)
def test_a_rollout_takes_back(found: World, expected: list[str]):
    assert withdrawn(found) == expected


def test_nobody_is_announced_in_the_moment_in_which_something_is_taken_back():
    taken_back = open_turn(maintain("h1", due=0))
    an_empty_host = turn("h2")

    assert announced(world(*HOSTS, VMS[0], rollout(taken_back, an_empty_host, window=SHUT))) == {}


@pytest.mark.parametrize(
    ("found", "again"),
    [
        row(
            "a second after an announcement is due",
            world(*FLEET, rollout(open_turn(maintain("h1", due=1)), window=SHUT)),
            at(1) + SECOND,
        ),
        row(
            "a minute after one that is held in an open window",
            world(*FLEET, rollout(open_turn(maintain("h1", due=0)), window=OPEN_NOW)),
            at(1),
        ),
        row(
            "when the first thing it waits for is there",
            world(*FLEET, rollout(turn("h1"), window=Window(time(13), HOUR))),
            at(45),
        ),
        row(
            "when the first of several instants comes",
            world(*FLEET, rollout(open_turn(maintain("h1", due=1)), turn("h2"), window=Window(time(13), HOUR))),
            at(1) + SECOND,
        ),
        row(
            "at no time when it waits for nothing by the clock",
            world(*FLEET, rollout(open_turn(maintain("h1")))),
            None,
        ),
    ],
)
def test_a_rollout_is_looked_at_again(found: World, again: datetime | None):
    assert look_at(found).look_again == again
