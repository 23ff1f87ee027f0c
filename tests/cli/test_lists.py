"""Lists as people read them: in natural order, filtered, and with long reasons shortened."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from forewarn.cli.output import between, natural, shortened
from tests.cli.command import CommandLine
from tests.cli.conftest import command_line
from tests.running import running

FLEET = {
    "hosts": [
        {"name": "h-10", "zone": "1", "tags": {"rack": "a"}},
        {"name": "h-2", "zone": "2", "tags": {"rack": "b"}},
        {"name": "empty"},
    ],
    "availability_sets": [{"name": "api"}],
    "vms": [
        {"name": "api-10", "host": "h-10", "availability_set": "api", "tags": {"team": "blue"}},
        {"name": "api-2", "host": "h-2", "availability_set": "api", "tags": {"team": "red"}},
        {"name": "solo", "host": "h-2", "addresses": ["127.0.3.1"]},
    ],
    "scale_sets": [
        {"name": "pool", "capacity": 11, "addresses": [f"127.0.4.{n}" for n in range(1, 12)], "hosts": ["h-2"]}
    ],
}


@pytest.fixture(scope="module")
def fleet() -> Iterator[CommandLine]:
    with running(FLEET) as service:
        yield command_line(service)


def listed(cli: CommandLine, *arguments: str) -> list[str]:
    """The first column of a list."""
    return [line.split()[0] for line in cli.says(*arguments).splitlines()[1:]]


# Order.


def test_names_are_sorted_as_people_count():
    names = ["b", "web-10", "web-2", "WEB-1", "web-2-b", "10", "9", "web", ""]

    assert sorted(names, key=natural) == ["", "9", "10", "b", "web", "WEB-1", "web-2", "web-2-b", "web-10"]


def test_lists_are_in_natural_order(fleet: CommandLine):
    pool = [f"pool_{number}" for number in range(11)]

    assert listed(fleet, "vm", "list") == ["api-2", "api-10", *pool, "solo"]
    assert listed(fleet, "host", "list") == ["empty", "h-2", "h-10"]
    assert "api-2 api-10" in fleet.says("scope", "list")
    assert fleet.says("scope", "show", "api").split("VMs")[1].split()[:2] == ["api-2", "api-10"]


# Filters.


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["--name", "API-*"], ["api-2", "api-10"]),
        (["--name", "pool_1*"], ["pool_1", "pool_10"]),
        (["--host", "h-10"], ["api-10"]),
        (["--set", "api"], ["api-2", "api-10"]),
        (["--scope", "api", "--host", "h-2"], ["api-2"]),
        (["--tag", "team"], ["api-2", "api-10"]),
        (["--tag", "team=red"], ["api-2"]),
        (["--state", "running", "--name", "s*"], ["solo"]),
    ],
    ids=" ".join,
)
def test_vms_are_listed_that_match_every_filter(fleet: CommandLine, filters: list[str], names: list[str]):
    assert listed(fleet, "vm", "list", *filters) == names
    assert sorted(each["name"] for each in fleet.json("vm", "list", *filters)["vms"]) == sorted(names)


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        (["--name", "h-?"], ["h-2"]),
        (["--zone", "1"], ["h-10"]),
        (["--condition", "up"], ["empty", "h-2", "h-10"]),
        (["--tag", "rack=b"], ["h-2"]),
    ],
    ids=" ".join,
)
def test_hosts_are_listed_that_match_every_filter(fleet: CommandLine, filters: list[str], names: list[str]):
    assert listed(fleet, "host", "list", *filters) == names


def test_a_list_without_a_match_says_so(fleet: CommandLine):
    assert fleet.says("vm", "list", "--state", "down") == "No VM matches these filters.\n"
    assert fleet.json("vm", "list", "--state", "down") == {"vms": []}
    assert fleet.says("host", "list", "--zone", "9") == "No host matches these filters.\n"


# What is waited for.


def test_a_long_list_of_names_in_a_reason_is_shortened():
    assert shortened("approval from web-0, web-1, web-2 (scope web) until 12:15:00Z") == (
        "approval from web-0 and 2 more (scope web) until 12:15:00Z"
    )
    assert shortened("approval from web-0, web-1 (scope web)") == "approval from web-0, web-1 (scope web)"
    assert shortened("the reboot of web-0 to end") == "the reboot of web-0 to end"


def test_the_table_of_events_names_one_vm_of_many_that_have_to_approve():
    with running(FLEET) as service:
        cli = command_line(service)
        service.guest("pool_0").document()
        cli.says("host", "maintain", "h-2")

        shown = cli.says("event", "list", "--scope", "pool")
        whole = cli.json("event", "list", "--scope", "pool")["events"]

    assert "approval from pool_0 and 2 more (scope pool)" in shown
    assert "approval from pool_0, pool_5, pool_10 (scope pool)" in whole[0]["waiting_for"][0]


# Lengths of time.


def test_the_rest_of_a_second_is_no_part_of_a_notice():
    assert between("2026-03-02T12:00:00.400000Z", "2026-03-02T12:15:01Z") == "15 min"
    assert between("2026-03-02T12:00:00Z", "2026-03-02T12:15:00Z") == "15 min"


def test_a_notice_of_fifteen_minutes_is_shown_as_that_wherever_in_a_second_it_was_given():
    with running(FLEET, clock_start=datetime(2026, 3, 2, 12, 0, 0, 400_000, UTC)) as service:
        cli = command_line(service)
        service.guest("solo").document()
        restarted = cli.says("vm", "restart", "solo")
        maintained = cli.says("host", "maintain", "h-2")
        service.advance(minutes=40)
        ended = cli.says("event", "history", "--vm", "solo")
        summary = cli.says("event", "history", "--vm", "solo", "--summary")

    assert "(15 min notice)" in restarted
    assert "15 min" in maintained
    assert "901 s" not in maintained + ended + summary
    assert " 900 s " in ended


# Work on an empty host.


def test_the_history_says_that_a_host_was_empty():
    with running(FLEET) as service:
        cli = command_line(service)
        cli.says("rollout", "start", "--host", "empty")

        shown = cli.says("event", "history").splitlines()[1]

        assert "no VMs on empty" in shown
        assert cli.json("event", "history")["history"][0]["host"] == "empty"
