"""When `decide` looks again because time alone may change what it says."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest

from forewarn.core.decide import (
    next_look,
)
from forewarn.core.window import Window
from forewarn.core.world import World
from tests.core.worlds import (
    NOON,
    approved,
    at,
    availability_set,
    delete,
    done_turn,
    host,
    maintain,
    minutes,
    open_turn,
    restart,
    rollout,
    row,
    started,
    stop,
    vm,
    without,
    world,
)

H1, H2 = host("h1"), host("h2")
SOLO, TWIN = vm("solo", "h1"), vm("twin", "h1")
WEB = (availability_set("web"), vm("web-0", "h1", "web", 0), vm("web-1", "h2", "web", 1))
PAIR = (vm("web-0", "h1", "web"), vm("web-1", "h1", "web"))  # one update domain: one event


def in_rollout(**work: Any) -> World:
    return world(H1, SOLO, rollout(open_turn(approved(maintain("h1", due=15))), **work))


@pytest.mark.parametrize(
    ("found", "operation", "again"),
    [
        row("at the end of the notice", world(H1, SOLO, restart("solo", due=15)), "restart solo", 15),
        row(
            "at an instant that a fault brings nearer",
            world(H1, SOLO, restart("solo", early=5)),
            "restart solo",
            10,
        ),
        row(
            "at the end of the notice once a fault's instant has passed",
            world(H1, SOLO, restart("solo", due=15, early=20)),
            "restart solo",
            15,
        ),
        row(
            "at the end of the first of several notices",
            world(H1, SOLO, TWIN, maintain("h1", due={"solo": 20, "twin": 15})),
            "maintain h1",
            15,
        ),
        row(
            "at no time once the notice has run out", world(H1, SOLO, restart("solo", due=0)), "restart solo", None
        ),
        row("at no time without a notice", world(H1, SOLO, stop("solo")), "stop solo", None),
        row(
            "not at the end of a notice of VMs that have left",
            without(world(H1, SOLO, TWIN, maintain("h1", due={"solo": 20, "twin": 15})), "maintain h1 in twin"),
            "maintain h1",
            20,
        ),
        row(
            "when machines may be touched",
            world(H1, SOLO, started(restart("solo"), begins=1)),
            "restart solo",
            1,
        ),
        row(
            "at no time while Started is still to be shown",
            world(H1, SOLO, started(restart("solo"), begins=None)),
            "restart solo",
            None,
        ),
        row(
            "at no time once machines may be touched",
            world(H1, SOLO, started(restart("solo"))),
            "restart solo",
            None,
        ),
        row(
            "a Terminate also when another Terminate of its scope is due",
            world(H1, availability_set("web"), *PAIR, approved(delete("web-0", due=15)), delete("web-1", due=5)),
            "delete web-0",
            5,
        ),
        row(
            "no other operation when another of its scope is due",
            world(H1, availability_set("web"), *PAIR, restart("web-0", due=15), delete("web-1", due=5)),
            "restart web-0",
            15,
        ),
        row("a rollout's work also at its force-by date", in_rollout(force_by=at(9)), "maintain h1", 9),
    ],
)
def test_decide_looks_again(found: World, operation: str, again: float | None):
    said = next_look(found, found.operations[operation], NOON)

    assert said == (None if again is None else at(again))


def test_decide_looks_again_when_an_update_domain_of_the_rollout_has_recovered():
    past = done_turn("h2", "web-1", ended=-20, domains=("web#1",))
    found = world(H1, H2, *WEB, rollout(past, open_turn(maintain("h1", due=15)), recovery=minutes(30)))

    assert next_look(found, found.operations["maintain h1"], NOON) == at(10)


def test_a_window_that_never_opens_is_not_looked_at_again():
    found = in_rollout(window=Window(time(3), timedelta(seconds=30)))

    assert next_look(found, found.operations["maintain h1"], at(20)) is None


def test_decide_looks_again_when_the_window_opens():
    found = in_rollout(window=Window(time(12, 10), timedelta(hours=1)))

    assert next_look(found, found.operations["maintain h1"], NOON) == at(10)
