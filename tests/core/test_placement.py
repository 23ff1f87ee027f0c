"""Where machines may come up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forewarn.core.phase import Phase
from forewarn.core.placement import (
    Vacancies,
    in_one_zone,
    lands_beside_another_domain,
    may_stay,
    shared_hosts,
    takes_vms,
    waits_for_host,
    why_no_host_takes,
)
from forewarn.core.rollout import RolloutState, TurnState
from forewarn.core.terms import VmState
from forewarn.core.world import World
from tests.core.worlds import (
    Part,
    availability_set,
    begun,
    botched,
    cloud_service,
    degrade,
    degraded,
    done,
    down,
    fail,
    failed,
    host,
    maintain,
    redeploy,
    restart,
    rollout,
    row,
    started,
    turn,
    vm,
    world,
)

H1, H2, H3 = host("h1"), host("h2"), host("h3")
SOLO = vm("solo", "h1")
WEB = availability_set("web")
WEB_0, WEB_1 = vm("web-0", "h1", "web", 0), vm("web-1", "h2", "web", 1)


@pytest.mark.parametrize(
    ("found", "takes"),
    [
        row("a host that is up does", world(H1), True),
        row("a host with VMs does", world(H1, SOLO), True),
        row("a degraded host does not", world(degraded("h1")), False),
        row("a failed host does not", world(failed("h1")), False),
        row("a host with announced work does not", world(H1, SOLO, maintain("h1")), False),
        row("a host at work does not", world(H1, SOLO, started(maintain("h1"))), False),
        row("a host does while its VM is restarted", world(H1, SOLO, started(restart("solo"))), True),
        row("a host does while another is worked on", world(H1, H2, SOLO, maintain("h2")), True),
    ],
)
def test_a_host_takes_vms(found: World, *, takes: bool):
    assert takes_vms(found, found.hosts["h1"]) is takes


@pytest.mark.parametrize(
    ("of_vm", "of_host", "fits"),
    [
        row("the same", "1", "1", True),
        row("another", "1", "2", False),
        row("a VM without one goes anywhere", None, "2", True),
        row("a host without one takes any VM", "1", None, True),
    ],
)
def test_a_zone(of_vm: str | None, of_host: str | None, *, fits: bool):
    assert in_one_zone(vm("solo", "h1", zone=of_vm), host("h2", of_host)) is fits


@pytest.mark.parametrize(
    ("found", "stays"),
    [
        row("on a host that is up", world(H1, SOLO, redeploy("solo")), True),
        row("on a degraded host that is not being emptied", world(degraded("h1"), SOLO, redeploy("solo")), True),
        row("on a failed host not", world(failed("h1"), SOLO, fail("h1")), False),
        row("on a host that is being emptied not", world(degraded("h1"), SOLO, degrade("h1")), False),
        row("on a failed host of its own", world(failed("h1", is_declared=False), SOLO, fail("h1")), True),
        row(
            "on its own host that is being emptied",
            world(host("h1", is_declared=False), SOLO, degrade("h1")),
            True,
        ),
        row("on a host that nobody knows any more", world(SOLO, redeploy("solo")), True),
    ],
)
def test_a_vm_may_come_up_where_it_is(found: World, *, stays: bool):
    (operation,) = found.operations.values()

    assert may_stay(found, operation, found.vms["solo"]) is stays


RESTORE = fail("h1", "solo")
GONE = down("solo", "h1", zone="1")


@pytest.mark.parametrize(
    ("found", "waits"),
    [
        row("while all hosts have failed", world(failed("h1"), failed("h2"), GONE, RESTORE), True),
        row("not when another host takes VMs", world(failed("h1"), H2, GONE, RESTORE), False),
        row("not when its own host is up again", world(H1, GONE, RESTORE), False),
        row("while the other host is under notice", world(failed("h1"), H2, GONE, RESTORE, maintain("h2")), True),
        row("while the other host is in another zone", world(failed("h1"), host("h2", "2"), GONE, RESTORE), True),
        row("not when the other host is in its zone", world(failed("h1"), host("h2", "1"), GONE, RESTORE), False),
        row("not once it is being brought back", world(failed("h1"), GONE, begun(RESTORE, "solo")), False),
        row("not once that has failed", world(failed("h1"), GONE, botched(RESTORE, "solo")), False),
        row("not on a host of its own", world(failed("h1", is_declared=False), GONE, RESTORE), False),
        row(
            "not while a restart is all that was asked for",
            world(failed("h1"), GONE, started(restart("solo"))),
            False,
        ),
    ],
)
def test_a_vm_of_a_failed_host_waits_for_another_host(found: World, *, waits: bool):
    operation = next(iter(found.operations.values()))

    assert waits_for_host(found, operation, "solo") is waits


def test_only_a_target_of_a_started_operation_waits_for_a_host():
    found = world(failed("h1"), GONE, down("twin", "h1"), RESTORE)
    operation = found.operations["fail h1"]

    assert waits_for_host(found, operation, "solo")
    assert not waits_for_host(found, operation, "twin")
    assert not waits_for_host(found, replace(operation, phase=Phase.SCHEDULED), "solo")


def test_a_target_that_was_deleted_waits_for_no_host():
    found = world(failed("h1"), GONE, RESTORE)
    found.take(replace(found.vms["solo"], state=VmState.DELETED))

    assert not waits_for_host(found, found.operations["fail h1"], "solo")


@pytest.mark.parametrize(
    ("hosts", "named", "unnamed"),
    [
        row("a failed host", [failed("h1")], ["h1 has failed"], ["zone 1", "more"]),
        row("a degraded host", [degraded("h2")], ["h2 is degraded"], []),
        row("a host under notice", [H2, maintain("h2")], ["h2 is under notice"], []),
        row("only hosts in its zone", [failed("h1", zone="1"), host("h2", "2")], ["h1"], ["h2"]),
        row("the first three", [failed(f"h{n}") for n in range(1, 6)], ["h1", "h3", "2 more"], ["h4"]),
        row("exactly three", [failed(f"h{n}") for n in range(1, 4)], ["h1", "h3"], ["more"]),
    ],
)
def test_why_no_host_takes_a_vm_names(hosts: list[Part], named: list[str], unnamed: list[str]):
    found = world(*hosts, vm("solo", "h1", zone="1"))
    words = why_no_host_takes(found, found.vms["solo"])

    assert "in zone 1" in words
    assert [each for each in named if each not in words] == []
    assert [each for each in unnamed if each in words.replace("in zone 1", "")] == []


def test_why_no_host_takes_a_vm_that_has_no_zone_names_none():
    found = world(failed("h1", zone="1"), SOLO)

    assert "zone" not in why_no_host_takes(found, found.vms["solo"])


# The best host. Each row is for web-0, of update domain 0, on h1; it may stay there unless the row says otherwise.


def chosen(found: World, *, elsewhere: bool = True, but: tuple[str, ...] = ()) -> str | None:
    return Vacancies(found).choose(found.vms["web-0"], elsewhere=elsewhere, but=but)


ALONE = (WEB, WEB_0)
TO_COME = rollout(turn("h2"))
HAS_BEEN = rollout(turn("h2", state=TurnState.DONE))


@pytest.mark.parametrize(
    ("found", "best"),
    [
        row("the emptiest", world(H1, H2, H3, *ALONE, vm("a", "h2")), "h3"),
        row("of two alike the first by name", world(H3, H2, H1, *ALONE), "h2"),
        row(
            "VMs on their way count",
            world(H1, H2, H3, *ALONE, vm("a", "h1"), begun(redeploy("a", to="h2"), "a")),
            "h3",
        ),
        row(
            "VMs that have arrived count once",
            world(
                H1, H2, H3, *ALONE, vm("a", "h2"), vm("b", "h3"), vm("c", "h3"), done(redeploy("a", to="h2"), "a")
            ),
            "h2",
        ),
        row("not one that takes no VMs", world(H1, H2, H3, *ALONE, vm("a", "h3"), maintain("h2")), "h3"),
        row(
            "not one in another zone",
            world(H1, host("h2", "2"), H3, WEB, vm("web-0", "h1", "web", zone="1"), vm("a", "h3")),
            "h3",
        ),
        row(
            "not beside another update domain",
            world(H1, H2, H3, *ALONE, WEB_1, vm("a", "h3"), vm("b", "h3")),
            "h3",
        ),
        row(
            "beside its own update domain",
            world(H1, H2, H3, *ALONE, vm("web-1", "h2", "web", 0), vm("a", "h3"), vm("b", "h3")),
            "h2",
        ),
        row(
            "beside another set",
            world(
                H1, H2, H3, *ALONE, availability_set("db"), vm("db-1", "h2", "db", 1), vm("a", "h3"), vm("b", "h3")
            ),
            "h2",
        ),
        row(
            "not where another update domain is about to come up",
            world(
                H1,
                H2,
                H3,
                *ALONE,
                vm("a", "h3"),
                vm("b", "h3"),
                vm("web-1", "h1", "web", 1),
                begun(redeploy("web-1", to="h2"), "web-1"),
            ),
            "h3",
        ),
        row("beside another update domain where nothing else is left", world(H1, H2, *ALONE, WEB_1), "h2"),
        row(
            "the best of those beside another update domain where nothing else is left",
            world(H1, H2, H3, *ALONE, WEB_1, vm("web-2", "h3", "web", 1), vm("a", "h2")),
            "h3",
        ),
        row(
            "one that a rollout is still to come to last", world(H1, H2, H3, *ALONE, vm("a", "h3"), TO_COME), "h3"
        ),
        row(
            "one that a paused rollout is still to come to last",
            world(H1, H2, H3, *ALONE, vm("a", "h3"), rollout(turn("h2"), state=RolloutState.PAUSED)),
            "h3",
        ),
        row(
            "one that a rollout has been to like any other",
            world(H1, H2, H3, *ALONE, vm("a", "h3"), HAS_BEEN),
            "h2",
        ),
        row("none where there is none", world(H1, *ALONE), None),
    ],
)
def test_the_best_host_for_a_vm_is(found: World, best: str | None):
    assert chosen(found) == best


def test_a_rollout_that_is_over_does_not_come_to_its_hosts_any_more():
    over = rollout(turn("h2"), state=RolloutState.ABORTED)

    assert chosen(world(H1, H2, H3, *ALONE, vm("a", "h3"), over)) == "h2"


def test_a_vm_that_may_stay_may_be_sent_to_where_it_is():
    found = world(H1, H2, *ALONE, vm("a", "h2"), vm("b", "h2"))

    assert chosen(found, elsewhere=False) == "h1"
    assert chosen(found, elsewhere=True) == "h2"


def test_a_host_that_is_ruled_out_is_not_chosen():
    assert chosen(world(H1, H2, H3, *ALONE), but=("h2",)) == "h3"


def test_a_vm_without_a_set_is_beside_nobody():
    found = world(H1, H2, SOLO, WEB, WEB_1)

    assert Vacancies(found).choose(found.vms["solo"], elsewhere=True) == "h2"


BUSY_H3 = (H3, *(vm(name, "h3") for name in ("a", "b", "c", "d")))


def sent(found: World, *vms: str) -> list[str]:
    """Where one commit sends these VMs, one after the other."""
    vacancies, there = Vacancies(found), []
    for name in vms:
        chosen_host = vacancies.choose(found.vms[name], elsewhere=True) or "nowhere"
        vacancies.send(found.vms[name], chosen_host)
        there.append(chosen_host)
    return there


def test_what_one_commit_sends_fills_hosts_evenly():
    crew = [vm(name, "h1") for name in "abcd"]

    assert sent(world(H1, H2, H3, *crew, vm("e", "h2")), *"abcd") == ["h3", "h2", "h3", "h2"]


def test_what_one_commit_sends_keeps_update_domains_apart():
    members = (WEB_0, vm("web-1", "h1", "web", 1), vm("web-2", "h1", "web", 0))
    found = world(H1, H2, H3, vm("a", "h3"), vm("b", "h3"), WEB, *members)

    assert sent(found, "web-0", "web-1", "web-2") == ["h2", "h3", "h2"]


def test_what_one_commit_sends_of_the_same_update_domain_may_share_a_host():
    found = world(H1, H2, *BUSY_H3, WEB, WEB_0, vm("web-2", "h1", "web", 0))

    assert sent(found, "web-0", "web-2") == ["h2", "h2"]


def test_what_one_commit_sends_of_other_sets_or_of_none_keeps_nobody_apart():
    found = world(H1, H2, *BUSY_H3, WEB, WEB_0, availability_set("db"), vm("db-1", "h1", "db", 1), SOLO)

    assert sent(found, "db-1", "solo", "web-0") == ["h2", "h2", "h2"]


def test_sending_a_vm_to_a_host_that_takes_none_changes_no_order():
    found = world(failed("h1"), H2, H3, SOLO, vm("twin", "h1"))
    vacancies = Vacancies(found)
    vacancies.send(found.vms["solo"], "h1")

    assert vacancies.choose(found.vms["twin"], elsewhere=True) == "h2"


# Update domains that share a host.

TOGETHER = (vm("web-0", "h1", "web", 0), vm("web-1", "h1", "web", 1))


@pytest.mark.parametrize(
    ("found", "beside"),
    [
        row("on a host with another update domain", world(H1, H2, *ALONE, WEB_1), True),
        row("not on a host with its own", world(H1, H2, *ALONE, vm("web-1", "h2", "web", 0)), False),
        row("not on an empty host", world(H1, H2, *ALONE), False),
        row(
            "not where the set says that it may",
            world(H1, H2, availability_set("web", spread=False), WEB_0, WEB_1),
            False,
        ),
        row("also where its set cannot say so", world(H1, H2, cloud_service("web"), WEB_0, WEB_1), True),
        row("not without a set", world(H1, H2, vm("web-0", "h1"), WEB_1, WEB), False),
    ],
)
def test_a_vm_lands_beside_another_update_domain(found: World, *, beside: bool):
    assert lands_beside_another_domain(found, found.vms["web-0"], "h2") is beside


@pytest.mark.parametrize(
    ("found", "named"),
    [
        row("not a set that is spread", world(H1, H2, *ALONE, WEB_1), []),
        row("not one update domain twice", world(H1, *ALONE, vm("web-1", "h1", "web", 0)), []),
        row("two update domains on one host", world(H1, WEB, *TOGETHER), ["web", "h1"]),
        row("not where the set says that it may", world(H1, availability_set("web", spread=False), *TOGETHER), []),
    ],
)
def test_a_shared_host_is_named(found: World, named: list[str]):
    said = list(shared_hosts(found))

    assert len(said) == (1 if named else 0)
    assert [name for name in named if name not in said[0]] == []


@pytest.mark.parametrize(
    ("hosts", "named", "unnamed"),
    [
        row("three of many", 5, ["h0", "h2", "and 2 more"], ["h3", "h4"]),
        row("exactly three", 3, ["h0", "h2"], ["more on", "and 0"]),
    ],
)
def test_of_shared_hosts_are_named(hosts: int, named: list[str], unnamed: list[str]):
    crowd: list[Part] = []
    for n in range(hosts):
        crowd += [host(f"h{n}"), vm(f"web-{n}a", f"h{n}", "web", 0), vm(f"web-{n}b", f"h{n}", "web", 1)]
    (said,) = shared_hosts(world(WEB, *crowd))

    assert [name for name in named if name not in said] == []
    assert [name for name in unnamed if name in said] == []
