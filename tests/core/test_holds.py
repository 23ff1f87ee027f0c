"""What keeps an operation from starting, hold by hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta
from operator import attrgetter
from typing import Any

import pytest

from forewarn.core.availability import Shortfall
from forewarn.core.holds import (
    BelowMinimum,
    Hold,
    NoHostTakes,
    NoticeRuns,
    OtherDomainDown,
    Recovering,
    SetBusy,
    TerminatePending,
    TooManyAtWork,
    VmBusy,
    VmComes,
    VmLeaves,
    WindowClosed,
    clock_time,
    holds,
    host_holds,
)
from forewarn.core.terms import Action, Cause, Kind, VmState
from forewarn.core.underway import Underway
from forewarn.core.window import Window
from forewarn.core.world import World
from tests.core.worlds import (
    NOON,
    Job,
    Part,
    approved,
    at,
    availability_set,
    begun,
    degrade,
    delete,
    done,
    done_turn,
    down,
    evict,
    fail,
    failed,
    host,
    maintain,
    minutes,
    off,
    open_turn,
    postponed,
    postponed_turn,
    redeploy,
    restart,
    rollout,
    row,
    started,
    stop,
    stopped,
    turn,
    vm,
    without,
    world,
)

H1, H2, H3 = host("h1"), host("h2"), host("h3")
SOLO, TWIN = vm("solo", "h1"), vm("twin", "h1")
WEB = availability_set("web")
WEB_0, WEB_1 = vm("web-0", "h1", "web", 0), vm("web-1", "h2", "web", 1)
FOREVER = None


def held(found: World, operation: str, now: datetime = NOON) -> list[tuple[Any, ...]]:
    """The holds of an operation, each as its class and what is particular about it."""
    return [brief(hold) for hold in holds(found, found.operations[operation], now)]


def brief(hold: Hold | NoHostTakes) -> tuple[Any, ...]:
    match hold:
        case NoticeRuns(event=event, outlasted_by=None):
            return NoticeRuns, event.scope
        case NoticeRuns(event=event, outlasted_by=other):
            return NoticeRuns, event.scope, other.scope
        case OtherDomainDown(operation=None):
            return OtherDomainDown, hold.update_domain, hold.vm
        case OtherDomainDown():
            return OtherDomainDown, hold.update_domain, hold.vm, hold.operation.id
        case BelowMinimum():
            return BelowMinimum, hold.shortfall.set_name, hold.shortfall.needed, hold.until
        case TerminatePending():
            return TerminatePending, hold.event.operation, hold.until
        case _:
            return type(hold), *attrgetter(*PARTICULARS[type(hold)])(hold)


PARTICULARS = {
    VmBusy: ("vm", "operation.id"),
    VmLeaves: ("vm", "operation.id"),
    VmComes: ("vm", "host"),
    SetBusy: ("set_name", "operation.id"),
    Recovering: ("update_domain", "until"),
    WindowClosed: ("until", "is_forced"),
    TooManyAtWork: ("most", "hosts"),
    NoHostTakes: ("vm", "why"),
}


# The notice.

BOTH = (H1, SOLO, TWIN)


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


def web(minimum: int, *others: Part) -> World:
    members = (vm("web-0", "h1", "web"), vm("web-1", "h2", "web"), vm("web-2", "h3", "web"))
    return world(H1, H2, H3, availability_set("web", minimum), *members, *others)


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


# Rollouts. The work on h1, which holds web-0, is due.

DUE_TURN = open_turn(maintain("h1", due=0), wave=1)
NOW_OPEN = Window(time(11), timedelta(hours=4))
AT_FOUR = Window(time(16), timedelta(hours=4))
TOO_SHORT = Window(time(16), timedelta(seconds=64))
JUST_CLOSING = Window(time(11), timedelta(hours=1, seconds=64))


def recovering(ended: float, **more: Any) -> World:
    past = done_turn("h2", "web-1", ended=ended, domains=("web#1",))
    return world(H1, H2, WEB, WEB_0, WEB_1, rollout(past, DUE_TURN, recovery=minutes(30), **more))


def in_window(window: Window, force_by: datetime | None = None) -> World:
    return world(H1, SOLO, rollout(DUE_TURN, window=window, force_by=force_by))


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


# Words: every hold names what it is about, and until when.


def the_hold(found: World, operation: str) -> Hold:
    (hold,) = holds(found, found.operations[operation], NOON)
    return hold


MANY = tuple(vm(f"web-{n}", "h1", "web") for n in range(7))
EVENT = world(H1, SOLO, delete("solo")).events["delete solo in solo"]


@pytest.mark.parametrize(
    ("hold", "named", "unnamed"),
    [
        row("approval", the_hold(world(H1, SOLO, restart("solo")), "restart solo"), ["solo", "12:15:00Z"], []),
        row(
            "approval, or the end of a notice nobody reads",
            the_hold(world(*BOTH, off("twin"), maintain("h1", due={"solo": 15, "twin": 20})), "maintain h1"),
            ["solo", "twin", "12:20:00Z"],
            ["12:15:00Z"],
        ),
        row(
            "a notice nobody reads",
            the_hold(world(H1, SOLO, off("solo"), restart("solo")), "restart solo"),
            ["solo", "off", "12:15:00Z"],
            ["owner"],
        ),
        row(
            "a notice that somebody postponed",
            the_hold(world(H1, SOLO, off("solo"), postponed(maintain("h1"), "solo")), "maintain h1"),
            ["solo", "off", "12:15:00Z", "owner"],
            [],
        ),
        row(
            "a busy VM",
            the_hold(world(H1, SOLO, started(restart("solo")), evict("solo", due=0)), "evict solo"),
            ["Reboot of solo"],
            [],
        ),
        row(
            "an update domain at work",
            the_hold(
                world(H1, H2, WEB, WEB_0, WEB_1, started(restart("web-1")), maintain("h1", due=0)), "maintain h1"
            ),
            ["update domain 1 of web", "web-1", "Reboot of web-1"],
            [],
        ),
        row(
            "an update domain that is down",
            the_hold(
                world(H1, H2, WEB, WEB_0, down("web-1", "h2", "web", 1), maintain("h1", due=0)), "maintain h1"
            ),
            ["update domain 1 of web", "web-1"],
            [],
        ),
        row(
            "a minimum",
            the_hold(web(3, maintain("h1", due=0)), "maintain h1"),
            ["web", "4", "3", "h1", "web-0"],
            ["more", "until"],
        ),
        row(
            "a minimum until a date",
            the_hold(web(3, approved(degrade("h1", due=15))), "degrade h1"),
            ["12:15:00Z"],
            [],
        ),
        row(
            "a minimum, with the first five of many VMs",
            the_hold(world(H1, availability_set("web", 1), *MANY, maintain("h1", due=0)), "maintain h1"),
            ["8", "web-4", "2 more"],
            ["web-5", "12 more"],
        ),
        row(
            "a minimum, with exactly five VMs",
            the_hold(world(H1, availability_set("web", 1), *MANY[:5], maintain("h1", due=0)), "maintain h1"),
            ["web-4"],
            ["more"],
        ),
        row(
            "a minimum of work on VMs rather than a host",
            BelowMinimum(
                Shortfall("web", 1, 1, ("web-0",)),
                world(H1, SOLO, restart("solo")).operations["restart solo"],
                None,
            ),
            ["this work", "web-0"],
            [],
        ),
        row(
            "a set that is short",
            the_hold(web(2, started(restart("web-1")), degrade("h1", due=0)), "degrade h1"),
            ["Reboot of web-1", "web", "2"],
            [],
        ),
        row("another Terminate", TerminatePending(EVENT, at(15)), ["solo", "12:15:00Z"], []),
        row(
            "a VM that leaves",
            the_hold(world(H1, SOLO, TWIN, evict("twin"), maintain("h1", "solo", due=0)), "maintain h1"),
            ["Preempt of twin", "twin"],
            [],
        ),
        row("a VM that comes", VmComes("twin", "h1"), ["twin", "h1"], []),
        row("recovery", the_hold(recovering(-10), "maintain h1"), ["update domain 1 of web", "12:20:00Z"], []),
        row("a window that opens", the_hold(in_window(AT_FOUR), "maintain h1"), ["Mon 16:00:00Z"], ["force"]),
        row(
            "a force-by date",
            the_hold(in_window(TOO_SHORT, at(60)), "maintain h1"),
            ["force-by", "Mon 13:00:00Z"],
            [],
        ),
        row("a window that never opens", the_hold(in_window(TOO_SHORT), "maintain h1"), ["window"], ["Mon"]),
        row("too many at work", TooManyAtWork(2, ("h2", "h3")), ["h2", "h3", "2"], []),
        row("no host", NoHostTakes("solo", "none may: h1 has failed"), ["solo", "h1"], []),
    ],
)
def test_a_hold_names_what_it_waits_for(hold: Hold, named: list[str], unnamed: list[str]):
    words = hold.in_words(NOON)

    assert [each for each in named if each not in words] == []
    assert [each for each in unnamed if each in words] == []


@pytest.mark.parametrize(
    ("instant", "shown"),
    [
        row("today, by its time", at(15), "12:15:00Z"),
        row("on another day, with its date", at(12 * 60), "2026-03-03 00:00:00Z"),
        row("at the end of today, by its time", at(12 * 60 - 1), "23:59:00Z"),
    ],
)
def test_an_instant_is_shown(instant: datetime, shown: str):
    assert clock_time(instant, NOON) == shown
