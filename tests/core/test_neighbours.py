"""Which open operations a commit concerns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.core.neighbours import concerned
from forewarn.core.operation import Outcome
from forewarn.core.phase import Phase
from forewarn.core.terms import VmState
from forewarn.core.world import World
from tests.core.worlds import (
    availability_set,
    begun,
    delete,
    fail,
    failed,
    host,
    maintain,
    open_turn,
    postponed_turn,
    redeploy,
    restart,
    rollout,
    row,
    vm,
    world,
)

H1, H2 = host("h1"), host("h2")
WEB = (availability_set("web"), vm("web-0", "h1", "web", 0), vm("web-1", "h2", "web", 1))


def everything(*more: object) -> World:
    """Work on both hosts, and what brings a VM back from a third."""
    return world(
        H1,
        H2,
        failed("h3"),
        *WEB,
        vm("solo", "h1"),
        vm("lost", "h3"),
        maintain("h1"),
        maintain("h2"),
        restart("solo"),
        fail("h3", "lost"),
        *more,
    )


ALL_ON_H1 = {"maintain h1", "restart solo"}


@pytest.mark.parametrize(
    ("found", "table", "key", "expected"),
    [
        row(
            "an operation itself, those on its VMs, on their hosts and in their sets",
            everything(),
            "operations",
            "maintain h1",
            ALL_ON_H1 | {"maintain h2"},
        ),
        row(
            "an operation without a set leaves other hosts alone",
            everything(),
            "operations",
            "restart solo",
            ALL_ON_H1,
        ),
        row("an event's operation", everything(), "events", "restart solo in solo", {"restart solo"}),
        row(
            "operations that have an event in a scope",
            everything(),
            "scopes",
            "web",
            {"maintain h1", "maintain h2"},
        ),
        row("a host may bring VMs back", everything(), "hosts", "h2", {"fail h3"}),
        row(
            "what is on a VM, on its host and in its set",
            everything(),
            "vms",
            "web-0",
            {"maintain h1", "maintain h2"},
        ),
        row("what is on a VM without a set and on its host", everything(), "vms", "solo", ALL_ON_H1),
        row("what is in a set", everything(), "sets", "web", {"maintain h1", "maintain h2"}),
    ],
)
def test_a_commit_concerns(found: World, table: str, key: str, expected: set[str]):
    assert concerned(found, [getattr(found, table)[key]]) == expected


def test_a_terminate_concerns_the_other_operations_of_its_scope():
    found = world(H1, H2, *WEB, delete("web-0"), delete("web-1"), restart("web-1"))

    assert concerned(found, [found.events["delete web-0 in web"]]) == {
        "delete web-0",
        "delete web-1",
        "restart web-1",
    }
    assert concerned(found, [found.events["restart web-1 in web"]]) == {"restart web-1"}


def test_the_end_of_work_on_a_host_concerns_what_brings_vms_back():
    found = everything()
    ended = replace(found.operations["maintain h2"], phase=Phase.COMPLETED)
    found.take(ended)

    assert concerned(found, [ended]) == {"maintain h1", "fail h3"}


def test_the_end_of_a_users_operation_does_not():
    found = everything()
    ended = replace(found.operations["restart solo"], phase=Phase.COMPLETED)
    found.take(ended)

    assert concerned(found, [ended]) == {"maintain h1"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        row("the set that it was in", "web-1", {"maintain h1", "maintain h2"}),
        row("the host that it was on", "solo", ALL_ON_H1),
    ],
)
def test_a_vm_that_is_gone_concerns(name: str, expected: set[str]):
    found = everything()
    gone = replace(found.vms[name], state=VmState.DELETED)
    found.take(gone)

    assert concerned(found, [gone]) == expected


def test_a_vm_that_is_gone_concerns_work_on_its_host_that_did_not_name_it():
    found = world(H1, vm("solo", "h1"), vm("twin", "h1"), maintain("h1", "twin"))
    gone = replace(found.vms["solo"], state=VmState.DELETED)
    found.take(gone)

    assert concerned(found, [gone]) == {"maintain h1"}


def test_an_operation_concerns_work_on_the_host_of_its_vm_that_does_not_name_it():
    found = world(H1, vm("solo", "h1"), vm("twin", "h1"), maintain("h1", "twin"), restart("solo"))

    assert concerned(found, [found.operations["restart solo"]]) == {"maintain h1", "restart solo"}


def test_an_operation_on_a_host_without_vms_concerns_itself():
    found = world(H1, maintain("h1"))

    assert concerned(found, [found.operations["maintain h1"]]) == {"maintain h1"}


def test_an_attempt_concerns_the_host_that_its_vm_comes_from_and_the_one_that_it_goes_to():
    found = world(
        H1, H2, vm("solo", "h1"), begun(redeploy("solo", to="h2"), "solo"), maintain("h1"), maintain("h2")
    )
    attempt = found.attempts["redeploy solo", "solo"]

    assert concerned(found, [attempt]) == {"redeploy solo", "maintain h1", "maintain h2"}
    assert concerned(found, [replace(attempt, destination=None, outcome=Outcome.DONE)]) == {
        "redeploy solo",
        "maintain h1",
    }


PARTS = (H1, H2, vm("solo", "h1"), vm("twin", "h2"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        row(
            "all of its work where somebody has postponed",
            world(*PARTS, rollout(postponed_turn(maintain("h1")), open_turn(maintain("h2")))),
            {"maintain h1", "maintain h2"},
        ),
        row(
            "no more than any operation where nobody has",
            world(*PARTS, rollout(open_turn(maintain("h1")), open_turn(maintain("h2")))),
            {"maintain h1"},
        ),
    ],
)
def test_an_operation_of_a_rollout_concerns(found: World, expected: set[str]):
    assert concerned(found, [found.operations["maintain h1"]]) == expected


def test_nothing_that_has_ended_is_concerned_and_a_turn_concerns_nobody():
    found = world(*PARTS, rollout(open_turn(maintain("h1"))))

    assert concerned(found, [found.book_of("rollout").turns["h1"]]) == set()
    assert concerned(found, [replace(found.operations["maintain h1"], id="another, which has ended")]) == {
        "maintain h1"
    }
