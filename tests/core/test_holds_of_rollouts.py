"""What keeps the work of a rollout from starting."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.holds import (
    Recovering,
    TooManyAtWork,
    WindowClosed,
)
from forewarn.core.world import World
from tests.core.held import (
    AT_FOUR,
    DUE_TURN,
    FOREVER,
    H1,
    H2,
    JUST_CLOSING,
    NOW_OPEN,
    SOLO,
    TOO_SHORT,
    WEB,
    WEB_0,
    held,
    in_window,
    recovering,
)
from tests.core.worlds import (
    at,
    done_turn,
    host,
    maintain,
    open_turn,
    postponed_turn,
    rollout,
    row,
    started,
    turn,
    vm,
    world,
)

# Rollouts. The work on h1, which holds web-0, is due.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row("another update domain that it worked on lately", recovering(-10), [(Recovering, 1, at(20))]),
        row("not one that has recovered", recovering(-30), []),
        row(
            "not the same update domain",
            world(H1, H2, WEB, WEB_0, rollout(done_turn("h2", "web-2", ended=-1, domains=("web#0",)), DUE_TURN)),
            [],
        ),
        row("a window that opens later", in_window(AT_FOUR), [(WindowClosed, at(240), False)]),
        row("not a window that is open", in_window(NOW_OPEN), []),
        row(
            "a window that closes before the work is over",
            in_window(JUST_CLOSING),
            [(WindowClosed, at(23 * 60), False)],
        ),
        row("a window that is never open for long enough", in_window(TOO_SHORT), [(WindowClosed, FOREVER, False)]),
        row(
            "a window until the force-by date, if that comes first",
            in_window(AT_FOUR, at(60)),
            [(WindowClosed, at(60), True)],
        ),
        row(
            "a window until it opens, if that comes first",
            in_window(AT_FOUR, at(300)),
            [(WindowClosed, at(240), False)],
        ),
        row("a window until both", in_window(AT_FOUR, at(240)), [(WindowClosed, at(240), False)]),
        row(
            "a window that never opens until the force-by date",
            in_window(TOO_SHORT, at(60)),
            [(WindowClosed, at(60), True)],
        ),
        row("not a window from the force-by date on", in_window(AT_FOUR, at(0)), []),
        row("nothing where no VM is left", world(H1, rollout(DUE_TURN, window=AT_FOUR)), []),
    ],
)
def test_a_rollout_holds_its_own_work(found: World, expected: list[tuple[Any, ...]]):
    assert held(found, "maintain h1") == expected


def test_a_rollout_holds_no_other_work():
    found = world(H1, SOLO, rollout(turn("h1"), window=AT_FOUR), maintain("h1", due=0))

    assert held(found, "maintain h1") == []


ZONED = (host("h1", "1"), host("h2", "1"), host("h3", "2"), SOLO, vm("two", "h2"), vm("three", "h3"))
BACK = postponed_turn(maintain("h1", due=0), zone="1")
ANNOUNCED = open_turn(maintain("h2"), zone="1")
AT_WORK = open_turn(started(maintain("h2")), zone="1")
AT_WORK_TOO = open_turn(started(maintain("h3")), zone="2")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "as many as may be",
            world(*ZONED, rollout(BACK, AT_WORK, max_parallel=1)),
            [(TooManyAtWork, 1, ("h2",))],
        ),
        row("not fewer", world(*ZONED, rollout(BACK, AT_WORK, max_parallel=2)), []),
        row("not what is only announced", world(*ZONED, rollout(BACK, ANNOUNCED, max_parallel=1)), []),
        row(
            "as many as may be in its zone",
            world(*ZONED, rollout(BACK, AT_WORK, AT_WORK_TOO, max_parallel=3, max_parallel_per_zone=1)),
            [(TooManyAtWork, 1, ("h2",))],
        ),
        row(
            "not those in another zone",
            world(*ZONED, rollout(BACK, AT_WORK_TOO, max_parallel=3, max_parallel_per_zone=1)),
            [],
        ),
        row(
            "fewer than may be in its zone do not",
            world(*ZONED, rollout(BACK, AT_WORK, max_parallel=3, max_parallel_per_zone=2)),
            [],
        ),
        row(
            "nothing where nobody has postponed: no more were announced than may be at work",
            world(*ZONED, rollout(open_turn(maintain("h1", due=0)), AT_WORK, max_parallel=1)),
            [],
        ),
    ],
)
def test_hosts_at_work_hold_one_that_comes_back_from_a_postponement(found: World, expected: list[tuple[Any, ...]]):
    assert held(found, "maintain h1") == expected
