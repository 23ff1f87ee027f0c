"""How many VMs of a set are available, and what work may take of them."""

from __future__ import annotations

import pytest

from forewarn.core.availability import (
    Excess,
    Shortfall,
    has_minimum,
    is_available,
    would_break_for_ever,
    would_leave,
)
from forewarn.core.fleet import ScaleSet
from forewarn.core.terms import VmState
from forewarn.core.underway import Underway
from forewarn.core.world import World
from tests.core.worlds import (
    Part,
    availability_set,
    begun,
    cloud_service,
    done,
    down,
    host,
    maintain,
    restart,
    row,
    started,
    stop,
    stopped,
    vm,
    world,
)

H1, H2 = host("h1"), host("h2")
APP_0, APP_1, APP_2 = (vm(f"app-{n}", "h1" if n < 2 else "h2", "app") for n in range(3))


def app(minimum: int, *others: Part) -> World:
    """A service of app-0 and app-1 on h1 and app-2 on h2, unless other states are given."""
    named = {each.name for each in others if hasattr(each, "state")}
    members = [each for each in (APP_0, APP_1, APP_2) if each.name not in named]
    return world(H1, H2, cloud_service("app", minimum), *members, *others)


@pytest.mark.parametrize(
    ("found", "available"),
    [
        row("while it runs", app(1), True),
        row("not while it is stopped", app(1, stopped("app-0", "h1", "app")), False),
        row("not while it is down", app(1, down("app-0", "h1", "app")), False),
        row("not while it is deallocated", app(1, vm("app-0", "h1", "app", state=VmState.DEALLOCATED)), False),
        row("while work on it is only announced", app(1, restart("app-0")), True),
        row("not once work on it has started", app(1, started(restart("app-0"))), False),
        row("not once its owner's stop has started", app(1, started(stop("app-0"))), False),
        row(
            "not before all of the work that names it has ended",
            app(1, begun(done(maintain("h1"), "app-0"), "app-1")),
            False,
        ),
        row("while work on another has started", app(1, started(restart("app-1"))), True),
    ],
)
def test_a_vm_is_available(found: World, *, available: bool):
    assert is_available(found, found.vms["app-0"], Underway()) is available


def test_a_vm_is_not_available_once_this_decision_starts_work_on_it():
    found = app(1, restart("app-0"))
    underway = Underway()
    underway.add(found.operations["restart app-0"])

    assert not is_available(found, found.vms["app-0"], underway)


@pytest.mark.parametrize(
    ("found", "vms", "short"),
    [
        row("not when as many are left as it wants", app(2), ["app-0"], []),
        row("when one fewer is left", app(3), ["app-0"], [Shortfall("app", 3, 3, ("app-0",))]),
        row(
            "when work takes two at once", app(2), ["app-0", "app-1"], [Shortfall("app", 2, 3, ("app-0", "app-1"))]
        ),
        row(
            "when another is at work",
            app(2, started(restart("app-2"))),
            ["app-0"],
            [Shortfall("app", 2, 2, ("app-0",))],
        ),
        row("not when work takes only VMs that are down", app(3, down("app-0", "h1", "app")), ["app-0"], []),
        row(
            "for those alone that are available",
            app(3, down("app-0", "h1", "app")),
            ["app-0", "app-1"],
            [Shortfall("app", 3, 2, ("app-1",))],
        ),
        row("not a set without a minimum", app(0), ["app-0", "app-1", "app-2"], []),
        row("not for a VM without a set", world(H1, vm("solo", "h1")), ["solo"], []),
        row("not for a VM that is gone", app(3), ["app-9"], []),
        row(
            "each set by itself",
            app(3, availability_set("web", 1), vm("web-0", "h1", "web")),
            ["app-0", "web-0"],
            [Shortfall("app", 3, 3, ("app-0",)), Shortfall("web", 1, 1, ("web-0",))],
        ),
    ],
)
def test_work_would_leave_a_set_short(found: World, vms: list[str], short: list[Shortfall]):
    assert list(would_leave(found, vms)) == short


def test_what_this_decision_starts_is_not_available_to_what_comes_after_it():
    found = app(2, restart("app-2"))
    underway = Underway()
    underway.add(found.operations["restart app-2"])

    assert not list(would_leave(found, ["app-0"]))
    assert list(would_leave(found, ["app-0"], underway)) == [Shortfall("app", 2, 2, ("app-0",))]


def test_a_shortfall_needs_the_minimum_besides_what_the_work_takes():
    assert Shortfall("app", 2, 3, ("app-0", "app-1")).needed == 4


@pytest.mark.parametrize(
    ("found", "vms", "broken"),
    [
        row("not while enough others belong to the set", app(2), ["app-0"], []),
        row("when too few others do", app(2), ["app-0", "app-1"], [Excess("app", 2, 3, ("app-0", "app-1"))]),
        row("whatever is down now: it may come up", app(2, down("app-2", "h2", "app")), ["app-0"], []),
        row(
            "whatever the work takes is down already",
            app(3, down("app-0", "h1", "app")),
            ["app-0"],
            [Excess("app", 3, 3, ("app-0",))],
        ),
        row("not a set without a minimum", app(0), ["app-0", "app-1", "app-2"], []),
    ],
)
def test_work_would_break_a_minimum_for_ever(found: World, vms: list[str], broken: list[Excess]):
    assert list(would_break_for_ever(found, vms)) == broken


@pytest.mark.parametrize(
    ("found", "has"),
    [
        row("when a VM of such a set is on it", app(1), True),
        row("not when its sets have none", app(0), False),
        row(
            "not when the set's VMs are elsewhere",
            app(1, vm("app-0", "h2", "app"), vm("app-1", "h2", "app")),
            False,
        ),
        row("not when it is empty", world(H1), False),
    ],
)
def test_a_host_has_a_minimum(found: World, *, has: bool):
    assert has_minimum(found, "h1") is has


def test_availability_sets_scale_sets_and_cloud_services_have_a_minimum():
    found = world(
        H1,
        availability_set("web", 1),
        cloud_service("app", 1),
        vm("web-0", "h1", "web"),
        vm("app-0", "h1", "app"),
    )
    found.take(ScaleSet("pool", min_available=1))
    found.take(vm("pool_0", "h1", "pool"))

    assert [each.set_name for each in would_leave(found, ["web-0", "app-0", "pool_0"])] == ["web", "app", "pool"]
