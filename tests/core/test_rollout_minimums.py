"""What a rollout announces beside minimums of sets, and beside hosts that cannot be emptied."""

from __future__ import annotations

from datetime import datetime

import pytest

from forewarn.core.rollout import TurnState
from forewarn.core.world import World
from tests.core.rollouts import (
    FLEET,
    HOSTS,
    MIGRATION,
    VMS,
    announced,
    web,
)
from tests.core.worlds import (
    at,
    look_at,
    maintain,
    open_turn,
    postponed_turn,
    restart,
    rollout,
    row,
    started,
    stopped,
    turn,
    world,
)

# Minimums. The set web has VMs on h1, h2 and h3, all of one update domain.


ALL_THREE = (turn("h1"), turn("h2"), turn("h3"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "one after the other, each judged when the one before counts",
            web(1, rollout(*ALL_THREE, max_parallel=3)),
            {"h1": 15},
        ),
        row(
            "another beside one that is announced while enough would be left",
            web(1, rollout(open_turn(maintain("h1")), turn("h2"), max_parallel=3)),
            {"h2": 15},
        ),
        row(
            "nobody beside those that are announced when too few would be left",
            web(2, rollout(open_turn(maintain("h1")), turn("h2"), turn("h3"), max_parallel=3)),
            {},
        ),
        row(
            "another beside a turn whose operation has ended",
            web(2, rollout(turn("h1", state=TurnState.OPEN, operation="gone"), turn("h2"), max_parallel=3)),
            {"h2": 15},
        ),
        row(
            "nobody beside one that was postponed when too few would be left",
            web(2, rollout(postponed_turn(maintain("h1", due=60)), turn("h2"), max_parallel=3)),
            {},
        ),
        row("nobody when too few are left whatever the rollout does", web(3, rollout(*ALL_THREE)), {}),
        row(
            "nobody while others' work takes too many", web(2, started(restart("web-3")), rollout(turn("h1"))), {}
        ),
        row(
            "who is to start at the force-by date, at first one",
            web(3, rollout(*ALL_THREE, force_by=at(15))),
            {"h1": 15},
        ),
        row("nobody a moment before that", web(3, rollout(*ALL_THREE, force_by=at(15.01))), {}),
        row(
            "then one after the other",
            web(3, rollout(open_turn(started(maintain("h1"))), turn("h2"), turn("h3"), force_by=at(-5))),
            {},
        ),
        row(
            "others that do not hold its VMs go on",
            web(3, VMS[3], VMS[4], rollout(turn("h1"), turn("h4"), turn("h5"))),
            {"h4": 15, "h5": 15},
        ),
    ],
)
def test_beside_a_minimum_a_rollout_announces(found: World, expected: dict[str, float]):
    assert announced(found) == expected


@pytest.mark.parametrize(
    ("found", "until", "named"),
    [
        row("for ever", web(3, rollout(turn("h1"))), None, ["web", "4", "3", "h1"]),
        row(
            "until it can start at the force-by date",
            web(3, rollout(turn("h1"), force_by=at(60))),
            at(45),
            ["12:45:00Z", "h1"],
        ),
        row(
            "until its own work on the set is done",
            web(2, rollout(open_turn(maintain("h1")), turn("h2"))),
            None,
            ["web", "3", "2", "h2"],
        ),
        row(
            "until its own work on the set is done, from the moment on from which it is forced",
            web(3, rollout(open_turn(started(maintain("h1"))), turn("h2"), force_by=at(15))),
            None,
            ["h2"],
        ),
        row(
            "until its own work on the set is done, however long it has been forced",
            web(3, rollout(open_turn(started(maintain("h1"))), turn("h2"), force_by=at(-5))),
            None,
            ["h2"],
        ),
    ],
)
def test_a_host_waits_for_a_minimum(found: World, until: datetime | None, named: list[str]):
    (wait,) = look_at(found).waits

    assert wait.until == until
    assert [name for name in named if name not in wait.words] == []


def test_a_host_whose_set_is_short_through_others_may_go_on_as_soon_as_a_vm_comes_up():
    by_others = web(2, stopped("web-3", "h3", "web"), rollout(turn("h1")))
    by_itself = web(2, rollout(open_turn(maintain("h1")), turn("h2")))

    assert look_at(by_others).waits_for_vms
    assert not look_at(by_itself).waits_for_vms


# Live migrations.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row("who has somewhere to go", world(*FLEET, rollout(turn("h1"), **MIGRATION)), {"h1": 15}),
        row(
            "not the last that might take the VMs",
            world(*HOSTS[:2], *VMS[:2], rollout(turn("h1"), turn("h2"), **MIGRATION)),
            {"h1": 15},
        ),
        row(
            "not who can only go where the rollout is at work",
            world(*HOSTS[:2], *VMS[:2], rollout(open_turn(maintain("h1")), turn("h2"), **MIGRATION)),
            {},
        ),
        row(
            "who could go nowhere anyway: that is refused, and counts as a failure",
            world(*HOSTS[:1], *VMS[:1], rollout(turn("h1"), **MIGRATION)),
            {"h1": 15},
        ),
        row(
            "who need not go anywhere",
            world(*HOSTS[:2], *VMS[:2], rollout(turn("h1"), turn("h2"))),
            {"h1": 15, "h2": 15},
        ),
        row(
            "whoever has only VMs that are off, at once",
            world(*HOSTS[:2], VMS[0], stopped("vm-2", "h2"), rollout(turn("h1"), turn("h2"), **MIGRATION)),
            {"h1": 15, "h2": 0},
        ),
        row(
            "who leaves only VMs that are off behind",
            world(
                *HOSTS[:3], *VMS[:2], stopped("off", "h2", zone="9"), rollout(turn("h1"), turn("h2"), **MIGRATION)
            ),
            {"h1": 15, "h2": 15},
        ),
    ],
)
def test_a_rollout_of_live_migrations_announces(found: World, expected: dict[str, float]):
    assert announced(found) == expected


def test_a_host_that_can_be_emptied_only_to_hosts_at_work_waits_and_names_its_vm():
    (wait,) = look_at(
        world(*HOSTS[:2], *VMS[:2], rollout(open_turn(maintain("h1")), turn("h2"), **MIGRATION))
    ).waits

    assert "vm-2" in wait.words
    assert "h2" in wait.words
