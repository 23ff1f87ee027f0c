"""What keeps an operation from starting, hold by hold."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.core.holds import (
    NoHostTakes,
    NoticeRuns,
    OtherDomainDown,
    TerminatePending,
    VmBusy,
    VmComes,
    VmLeaves,
    holds,
    host_holds,
)
from forewarn.core.terms import Action, Cause, Kind
from forewarn.core.underway import Underway
from forewarn.core.world import World
from tests.core.held import (
    BOTH,
    H1,
    H2,
    SOLO,
    TWIN,
    WEB,
    WEB_0,
    WEB_1,
    brief,
    held,
)
from tests.core.worlds import (
    NOON,
    Job,
    Part,
    approved,
    at,
    begun,
    delete,
    done,
    down,
    evict,
    fail,
    failed,
    maintain,
    off,
    postponed,
    redeploy,
    restart,
    row,
    started,
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


def test_everything_that_holds_an_operation_is_found_the_notice_first():
    found = world(
        H1, H2, WEB, WEB_0, WEB_1, begun(restart("web-1"), "web-1"), started(restart("web-0")), maintain("h1")
    )

    assert held(found, "maintain h1") == [
        (NoticeRuns, "web"),
        (VmBusy, "web-0", "restart web-0"),
        (OtherDomainDown, 1, "web-1", "restart web-1"),
    ]


# One action on a VM at a time.

DUE = {"due": 0}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        row("a started operation on the VM", [begun(restart("solo"), "solo")], [(VmBusy, "solo", "restart solo")]),
        row("not one that is only announced", [restart("solo")], []),
        row("not one on another VM", [begun(restart("twin"), "twin")], []),
        row(
            "one that is bringing the VM back",
            [H2, failed("h3"), fail("h3", "solo")],
            [(VmBusy, "solo", "fail h3")],
        ),
    ],
)
def test_a_vm_that_is_being_worked_on_holds(others: list[Part], expected: list[tuple[Any, ...]]):
    assert held(world(H1, SOLO, TWIN, *others, evict("solo", **DUE)), "evict solo") == expected


def test_a_vm_that_waits_for_a_host_does_not_hold_its_eviction():
    found = world(failed("h1"), down("solo", "h1"), fail("h1", "solo"), evict("solo", **DUE))

    assert held(found, "evict solo") == []


def test_what_the_same_decision_starts_holds_like_what_has_started():
    found = world(H1, SOLO, restart("solo", due=0), evict("solo", due=0))
    underway = Underway()
    underway.add(found.operations["restart solo"])

    assert [brief(hold) for hold in holds(found, found.operations["evict solo"], NOON, underway)] == [
        (VmBusy, "solo", "restart solo")
    ]
    assert list(holds(found, found.operations["restart solo"], NOON, underway)) == []


# VMs that leave the host or come to it. Each row is beside planned work on h1 for solo.


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        row("one that is evicted and still there", [TWIN, evict("twin")], [(VmLeaves, "twin", "evict twin")]),
        row("not one of its own VMs that is evicted", [evict("solo")], []),
        row("not one that is deleted", [TWIN, delete("twin")], []),
        row("not one that is evicted from another host", [vm("twin", "h2"), evict("twin")], []),
        row(
            "one that is on its way there",
            [vm("twin", "h2"), begun(redeploy("twin", to="h1"), "twin")],
            [(VmComes, "twin", "h1")],
        ),
        row(
            "not one that is on its way elsewhere",
            [vm("twin", "h2"), begun(redeploy("twin", to="h2"), "twin")],
            [],
        ),
        row("not one that has arrived", [TWIN, done(redeploy("twin", to="h1"), "twin")], []),
    ],
)
def test_a_vm_that_leaves_or_comes_holds_work_on_a_host(others: list[Part], expected: list[tuple[Any, ...]]):
    assert held(world(H1, H2, SOLO, *others, maintain("h1", "solo", due=0)), "maintain h1") == expected


def test_planned_work_on_vms_rather_than_a_host_waits_for_nobody_who_leaves_or_comes():
    elsewhere = Job(Cause.MAINTAIN, Action.FREEZE, Kind.FREEZE, ("solo",), due=0)

    assert held(world(H1, SOLO, TWIN, evict("twin"), elsewhere), elsewhere.id) == []


# Terminates of one scope. Each row is beside an approved delete of web-0, due at 12:15.


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        row(
            "another Terminate that is neither approved nor due",
            delete("web-1", due=20),
            [(TerminatePending, "delete web-1", at(15))],
        ),
        row("until the first of both is due", delete("web-1", due=5), [(TerminatePending, "delete web-1", at(5))]),
        row("not one that is due", delete("web-1", due=0), []),
        row("not one that is approved", approved(delete("web-1")), []),
        row("not one that has started", started(delete("web-1")), []),
        row("not an event of another kind", restart("web-1"), []),
    ],
)
def test_another_terminate_of_the_scope_holds_a_terminate(other: Any, expected: list[tuple[Any, ...]]):
    found = world(H1, H2, WEB, WEB_0, WEB_1, approved(delete("web-0", due=15)), other)

    assert held(found, "delete web-0") == expected


def test_a_terminate_that_is_due_itself_waits_for_no_other():
    found = world(H1, H2, WEB, WEB_0, WEB_1, delete("web-0", due=0), delete("web-1", due=20))

    assert held(found, "delete web-0") == []


def test_a_terminate_waits_for_none_of_another_scope():
    found = world(H1, SOLO, TWIN, approved(delete("solo")), delete("twin"))

    assert held(found, "delete solo") == []


def test_a_terminate_waits_for_none_of_a_scope_in_which_nothing_runs():
    members = (stopped("web-0", "h1", "web"), stopped("web-1", "h2", "web", 1))
    found = world(H1, H2, WEB, *members, delete("web-0"), delete("web-1"))

    assert held(found, "delete web-0") == []


def test_no_other_operation_waits_for_a_terminate():
    found = world(H1, H2, WEB, WEB_0, WEB_1, approved(restart("web-0")), delete("web-1"))

    assert held(found, "restart web-0") == []


# What has started and waits.


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "no host takes it",
            world(failed("h1"), down("solo", "h1"), fail("h1", "solo")),
            [(NoHostTakes, "solo")],
        ),
        row("not when one does", world(failed("h1"), H2, down("solo", "h1"), fail("h1", "solo")), []),
    ],
)
def test_a_vm_of_a_failed_host_is_held_while(found: World, expected: list[tuple[Any, ...]]):
    assert [brief(hold)[:2] for hold in host_holds(found, found.operations["fail h1"])] == expected
