"""The lines that Microsoft's page gives its readers, run as they stand by guests that are where guests are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import wait_until
from tests.system.guests import ask, document_of, run_line, run_sample, seen_by, turn_on
from tests.system.namespaces import GuestNamespace, Network, bridged, unbridged
from tests.system.page_lines import PAGE_EVENT, RESTART, Edition, editions
from tests.system.serving import Operator, serving

pytestmark = pytest.mark.system

FLEET = """
[[availability_sets]]
name = "web"

[[vms]]
name = "web-0"
availability_set = "web"
addresses = ["10.77.0.11"]

[[vms]]
name = "web-1"
availability_set = "web"
addresses = ["10.77.0.12"]

[[vms]]
name = "solo"
addresses = ["10.77.0.13"]
"""

# Two networks of two owners behind one host: the same address on both.
TWINS = """
[[vms]]
name = "left"
interface = "veth0"
addresses = ["10.77.0.11"]

[[vms]]
name = "right"
interface = "veth1"
addresses = ["10.77.0.11"]
"""


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with bridged(4) as built:
        yield built


@pytest.fixture
def guests(network: Network) -> dict[str, GuestNamespace]:
    """The guests by name; the stranger is on the bridge, but not in the fleet."""
    return dict(zip(("web-0", "web-1", "solo", "stranger"), network.guests, strict=True))


@pytest.fixture
def operator(network: Network, tmp_path: Path) -> Iterator[Operator]:
    """The operator of a fresh service with the two scopes."""
    with serving(network.host, FLEET, tmp_path) as started:
        yield started


@pytest.fixture
def twins() -> Iterator[Network]:
    """Two guests with the same address, each on a cable of its own."""
    with unbridged(["10.77.0.11", "10.77.0.11"]) as built:
        yield built


@pytest.fixture
def twins_operator(twins: Network, tmp_path: Path) -> Iterator[Operator]:
    with serving(twins.host, TWINS, tmp_path) as started:
        yield started


# The page's lines.


@editions
def test_the_pages_get_line_prints_the_document_in_the_shape_of_its_version(
    operator: Operator, guests: dict[str, GuestNamespace], tmp_path: Path, edition: Edition
):
    before = run_line(guests["web-0"], edition.get, tmp_path)
    event = operator.restart("web-0")

    after = run_line(guests["web-0"], edition.get, tmp_path)

    assert (before.returncode, before.stdout) == (0, '{"DocumentIncarnation":1,"Events":[]}')
    assert after.returncode == 0
    assert after.stdout == (
        '{"DocumentIncarnation":2,"Events":[{'
        f'"EventId":"{event.upper()}","EventStatus":"Scheduled","EventType":"Reboot",'
        f'"ResourceType":"VirtualMachine","Resources":["{edition.resource}"],'
        f'"NotBefore":"Mon, 02 Mar 2026 12:15:00 GMT"{edition.more_members}'
        "}]}"
    )


@editions
def test_the_pages_post_line_prints_nothing_and_starts_the_event(
    operator: Operator, guests: dict[str, GuestNamespace], tmp_path: Path, edition: Edition
):
    run_line(guests["web-0"], edition.get, tmp_path)
    event = operator.restart("web-0")

    posted = run_line(guests["web-0"], edition.post.replace(PAGE_EVENT, event.lower()), tmp_path)

    assert (posted.returncode, posted.stdout) == (0, "")
    wait_until(lambda: operator.phase(event) == "Started", f"event {event} to start")
    (seen,) = json.loads(run_line(guests["web-0"], edition.get, tmp_path).stdout)["Events"]
    assert (seen["EventId"], seen["EventStatus"], seen["NotBefore"]) == (event.upper(), "Started", "")


# Who sees what.


def test_an_event_in_a_set_is_seen_by_its_members_and_not_by_a_standalone_guest(
    operator: Operator, guests: dict[str, GuestNamespace]
):
    turn_on(guests["web-0"], guests["solo"])

    event = operator.restart("web-0")

    assert seen_by(guests["web-0"]) == [(event.upper(), ["web-0"])]
    assert document_of(guests["web-1"]) == document_of(guests["web-0"])
    assert document_of(guests["solo"]) == {"DocumentIncarnation": 1, "Events": []}


def test_an_event_of_a_standalone_guest_is_seen_by_nobody_else(
    operator: Operator, guests: dict[str, GuestNamespace]
):
    turn_on(guests["web-0"], guests["solo"])

    event = operator.restart("solo")

    assert seen_by(guests["solo"]) == [(event.upper(), ["solo"])]
    assert document_of(guests["web-0"]) == {"DocumentIncarnation": 1, "Events": []}
    assert document_of(guests["web-1"]) == {"DocumentIncarnation": 1, "Events": []}


def test_an_address_that_is_no_guests_gets_404(operator: Operator, guests: dict[str, GuestNamespace]):
    turn_on(guests["web-0"])
    operator.restart("web-0")

    status, body = ask(guests["stranger"])

    assert status == 404
    assert "Events" not in body


# The page's Python sample.


def test_the_pages_program_reads_every_member_of_the_first_editions(
    operator: Operator, guests: dict[str, GuestNamespace]
):
    turn_on(guests["web-0"])
    event = operator.restart("web-0")

    ran = run_sample(guests["web-0"], "web-0", "2017-08-01")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        f"EventId: {event.upper()}",
        "EventStatus: Scheduled",
        "Resources: web-0",
        "EventType: Reboot",
        "ResourceType: VirtualMachine",
        "NotBefore: Mon,_02_Mar_2026_12:15:00_GMT",
        "mine: True",
    ]


def test_the_pages_program_reads_description_and_source_from_2019_08_on(
    operator: Operator, guests: dict[str, GuestNamespace]
):
    turn_on(guests["web-0"])
    event = operator.restart("web-0")

    ran = run_sample(guests["web-0"], "web-0", "2019-08-01")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        f"EventId: {event.upper()}",
        "EventStatus: Scheduled",
        "Resources: web-0",
        "EventType: Reboot",
        "ResourceType: VirtualMachine",
        "NotBefore: Mon,_02_Mar_2026_12:15:00_GMT",
        f"Description: {RESTART}",
        "EventSource: User",
        "mine: True",
    ]


@pytest.mark.parametrize("version", ["2017-08-01", "2019-08-01"])
def test_the_pages_program_starts_the_event_by_its_approval(
    operator: Operator, guests: dict[str, GuestNamespace], version: str
):
    turn_on(guests["web-0"])
    event = operator.restart("web-0")

    ran = run_sample(guests["web-0"], "web-0", version, "--approve")

    assert ran.returncode == 0, ran.stderr
    wait_until(lambda: operator.phase(event) == "Started", f"event {event} to start")
    again = run_sample(guests["web-0"], "web-0", version)
    assert again.returncode == 0, again.stderr
    assert "EventStatus: Started" in again.stdout.splitlines()
    assert "NotBefore: " in again.stdout.splitlines()


def test_the_pages_program_tells_its_neighbours_event_from_its_own(
    operator: Operator, guests: dict[str, GuestNamespace]
):
    turn_on(guests["web-0"])
    event = operator.restart("web-0")

    ran = run_sample(guests["web-1"], "web-1", "2019-08-01", "--approve")

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == f"EventId: {event.upper()}"
    assert ran.stdout.splitlines()[-1] == "mine: False"
    assert operator.phase(event) == "Scheduled"


# One address, two guests.


@pytest.mark.parametrize(("mine", "other"), [(0, 1), (1, 0)], ids=["left", "right"])
def test_guests_with_the_same_address_are_told_apart_by_their_interface(
    twins_operator: Operator, twins: Network, mine: int, other: int
):
    turn_on(*twins.guests)
    name = ("left", "right")[mine]

    event = twins_operator.restart(name)

    assert seen_by(twins.guests[mine]) == [(event.upper(), [name])]
    assert document_of(twins.guests[other]) == {"DocumentIncarnation": 1, "Events": []}


@pytest.mark.parametrize(("mine", "other"), [(0, 1), (1, 0)], ids=["left", "right"])
def test_a_guest_cannot_approve_for_another_that_has_the_same_address(
    twins_operator: Operator, twins: Network, mine: int, other: int
):
    turn_on(*twins.guests)
    event = twins_operator.restart(("left", "right")[mine])

    from_the_other, _ = ask(twins.guests[other], approving=event)
    phase_then = twins_operator.phase(event)
    from_its_own, _ = ask(twins.guests[mine], approving=event)

    assert (from_the_other, phase_then) == (400, "Scheduled")
    assert from_its_own == 200
    wait_until(lambda: twins_operator.phase(event) == "Started", f"event {event} to start")
