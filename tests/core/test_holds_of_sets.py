"""What sets ask of planned work: one update domain at a time, and a minimum of available VMs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forewarn.core.holds import (
    BelowMinimum,
    NoticeRuns,
    OtherDomainDown,
    SetBusy,
)
from forewarn.core.terms import VmState
from forewarn.core.world import World
from tests.core.held import (
    BOTH,
    FOREVER,
    H1,
    H2,
    SOLO,
    WEB,
    WEB_0,
    WEB_1,
    held,
    web,
)
from tests.core.worlds import (
    Part,
    approved,
    at,
    availability_set,
    degrade,
    delete,
    down,
    evict,
    fail,
    maintain,
    off,
    open_turn,
    postponed,
    restart,
    rollout,
    row,
    started,
    stop,
    stopped,
    vm,
    without,
    world,
)

# The notice.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row("while the notice runs", world(*BOTH, maintain("h1", "solo")), [(NoticeRuns, "solo")]),
        row("not from the notice's end on", world(*BOTH, maintain("h1", "solo", due=0)), []),
        row(
            "until the notice's last instant",
            world(*BOTH, maintain("h1", "solo", due=0.01)),
            [(NoticeRuns, "solo")],
        ),
        row("not once it is approved", world(*BOTH, approved(maintain("h1", "solo"))), []),
        row(
            "while a clock step has not been made up for",
            world(*BOTH, maintain("h1", "solo", due=-5, promised=5)),
            [(NoticeRuns, "solo")],
        ),
        row("not when a fault starts it early", world(*BOTH, maintain("h1", "solo", due=15, early=15)), []),
        row(
            "while any of its events is not cleared",
            world(*BOTH, approved(maintain("h1"), "solo")),
            [(NoticeRuns, "twin")],
        ),
        row(
            "not for VMs that have left the operation",
            without(world(*BOTH, approved(maintain("h1"), "solo")), "maintain h1 in twin"),
            [],
        ),
        row(
            "of every scope that has not approved",
            world(*BOTH, maintain("h1")),
            [(NoticeRuns, "solo"), (NoticeRuns, "twin")],
        ),
        row(
            "a scope that is off until its notice ends",
            world(*BOTH, off("solo"), maintain("h1", "solo")),
            [(NoticeRuns, "solo")],
        ),
        row("a scope that is off no longer", world(*BOTH, off("solo"), maintain("h1", "solo", due=0)), []),
        row(
            "approval by all others is enough where a scope is off",
            world(*BOTH, off("twin"), approved(maintain("h1"), "solo")),
            [],
        ),
        row(
            "who has approved is not asked again, however long a notice is that nobody reads",
            world(*BOTH, off("twin"), approved(maintain("h1", due={"solo": 15, "twin": 20}), "solo")),
            [],
        ),
        row(
            "a scope that is on is waited for, and a longer notice of one that is off with it",
            world(*BOTH, off("twin"), maintain("h1", due={"solo": 15, "twin": 20})),
            [(NoticeRuns, "solo", "twin")],
        ),
        row(
            "what starts because time has run out waits for the notices nobody reads",
            world(*BOTH, off("twin"), maintain("h1", due={"solo": 0, "twin": 5})),
            [(NoticeRuns, "solo", "twin")],
        ),
        row(
            "a notice that nobody reads and that ends first is not named",
            world(*BOTH, off("twin"), maintain("h1", due={"solo": 15, "twin": 15})),
            [(NoticeRuns, "solo")],
        ),
        row(
            "the longest of the notices that nobody reads is named",
            world(
                *BOTH,
                vm("third", "h1"),
                off("twin"),
                off("third"),
                maintain("h1", due={"solo": 15, "twin": 20, "third": 25}),
            ),
            [(NoticeRuns, "solo", "third")],
        ),
        row(
            "who postponed is waited for though the scope is off",
            world(*BOTH, off("twin"), postponed(approved(maintain("h1"), "solo"), "twin")),
            [(NoticeRuns, "twin")],
        ),
        row("not when no VM of the scope runs", world(H1, stopped("solo", "h1"), delete("solo")), []),
        row(
            "when no VM of the scope runs, but its policy wants an approval",
            world(H1, stopped("solo", "h1", auto_approve=()), delete("solo")),
            [(NoticeRuns, "solo")],
        ),
        row(
            "while one VM of the scope runs",
            world(H1, H2, WEB, stopped("web-0", "h1", "web"), WEB_1, delete("web-0")),
            [(NoticeRuns, "web")],
        ),
        row(
            "not in a scope that is off and has no VM running",
            world(H1, stopped("solo", "h1"), off("solo"), delete("solo")),
            [],
        ),
    ],
)
def test_the_notice_holds(found: World, expected: list[tuple[Any, ...]]):
    (operation,) = found.operations

    assert held(found, operation) == expected


# Update domains. Each row is beside planned work on h1, which holds web-0 of update domain 0 of web.


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        row(
            "one that an operation takes down",
            [WEB_1, started(restart("web-1"))],
            [(OtherDomainDown, 1, "web-1", "restart web-1")],
        ),
        row(
            "one that other planned work takes down",
            [WEB_1, started(maintain("h2"))],
            [(OtherDomainDown, 1, "web-1", "maintain h2")],
        ),
        row("one that is only announced does not", [WEB_1, restart("web-1")], []),
        row("one that its owner stops does not", [WEB_1, started(stop("web-1"))], []),
        row("one that its owner has stopped does not", [stopped("web-1", "h2", "web", 1)], []),
        row("one that is down by itself", [down("web-1", "h2", "web", 1)], [(OtherDomainDown, 1, "web-1")]),
        row(
            "one that is down and being brought back, for both reasons",
            [down("web-1", "h2", "web", 1), fail("h2", "web-1")],
            [(OtherDomainDown, 1, "web-1", "fail h2"), (OtherDomainDown, 1, "web-1")],
        ),
        row("another VM of the same update domain does not", [down("web-1", "h2", "web", 0)], []),
        row(
            "an operation in the same update domain does not",
            [vm("web-1", "h2", "web", 0), started(restart("web-1"))],
            [],
        ),
        row("another set's does not", [availability_set("db"), down("db-1", "h2", "db", 1)], []),
        row("a VM without a set does not", [vm("solo", "h2"), started(restart("solo"))], []),
        row(
            "only the VMs of the set are named where work takes down more",
            [WEB_1, vm("solo", "h2"), started(maintain("h2"))],
            [(OtherDomainDown, 1, "web-1", "maintain h2")],
        ),
        row(
            "work that takes down both of its domains is held by one of them",
            [vm("web-1", "h1", "web", 1), down("web-2", "h2", "web", 1)],
            [(OtherDomainDown, 1, "web-2")],
        ),
        row(
            "the work's own VMs that are down do not hold it",
            [down("web-1", "h1", "web", 1)],
            [],
        ),
    ],
)
def test_another_update_domain_that_is_down_holds_planned_work(
    others: list[Part], expected: list[tuple[Any, ...]]
):
    assert held(world(H1, H2, WEB, WEB_0, *others, maintain("h1", due=0)), "maintain h1") == expected


@pytest.mark.parametrize(
    "unplanned",
    [row(job.id, job) for job in (restart("web-0", due=0), evict("web-0", due=0), delete("web-0", due=0))],
)
def test_another_update_domain_that_is_down_holds_nothing_but_planned_work(unplanned: Any):
    found = world(H1, H2, WEB, WEB_0, down("web-1", "h2", "web", 1), unplanned)

    assert held(found, unplanned.id) == []


def test_a_target_that_was_deleted_is_in_no_update_domain():
    found = world(H1, H2, WEB, WEB_0, SOLO, down("web-1", "h2", "web", 1), maintain("h1", due=0))
    found.take(replace(found.vms["web-0"], state=VmState.DELETED))

    assert held(found, "maintain h1") == []


# Minimums. The set web has VMs on h1, h2 and h3, all of one update domain.


@pytest.mark.parametrize(
    ("found", "operation", "expected"),
    [
        row("not while enough are left", web(2, maintain("h1", due=0)), "maintain h1", []),
        row(
            "when too few would be left",
            web(3, maintain("h1", due=0)),
            "maintain h1",
            [(BelowMinimum, "web", 4, FOREVER)],
        ),
        row(
            "when too few would be left beside others that are at work",
            web(2, started(restart("web-1")), maintain("h1", due=0)),
            "maintain h1",
            [(BelowMinimum, "web", 3, FOREVER)],
        ),
        row("no user operation", web(3, restart("web-0", due=0)), "restart web-0", []),
        row(
            "a host that is about to fail until its notice has run out",
            web(3, approved(degrade("h1", due=15))),
            "degrade h1",
            [(BelowMinimum, "web", 4, at(15))],
        ),
        row("a host that is about to fail no longer", web(3, degrade("h1", due=0)), "degrade h1", []),
        row(
            "a host that is about to fail until the notice's end though a fault starts it early",
            web(3, degrade("h1", due=15, early=15)),
            "degrade h1",
            [(BelowMinimum, "web", 4, at(15))],
        ),
        row(
            "then only while others are at work on the set",
            web(2, started(restart("web-1")), degrade("h1", due=0)),
            "degrade h1",
            [(SetBusy, "web", "restart web-1")],
        ),
        row(
            "a rollout until its force-by date",
            web(3, rollout(open_turn(maintain("h1", due=0)), force_by=at(30))),
            "maintain h1",
            [(BelowMinimum, "web", 4, at(30))],
        ),
        row(
            "a rollout no longer from its force-by date on",
            web(3, rollout(open_turn(maintain("h1", due=0)), force_by=at(0))),
            "maintain h1",
            [],
        ),
        row(
            "a rollout without a force-by date for ever",
            web(3, rollout(open_turn(maintain("h1", due=0)))),
            "maintain h1",
            [(BelowMinimum, "web", 4, FOREVER)],
        ),
    ],
)
def test_a_minimum_holds(found: World, operation: str, expected: list[tuple[Any, ...]]):
    assert held(found, operation) == expected


def test_a_host_that_is_about_to_fail_waits_for_the_last_of_its_notices():
    found = world(
        H1,
        availability_set("web", 1),
        vm("web-0", "h1", "web"),
        SOLO,
        approved(degrade("h1", due={"web": 5, "solo": 15})),
    )

    assert held(found, "degrade h1") == [(BelowMinimum, "web", 2, at(15))]
