"""Guests that are known by the interface they come in on, while taps come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import wait_until
from tests.system.guests import ask
from tests.system.namespaces import Network, plug_in_alone, unbridged, unplug
from tests.system.serving import serving

pytestmark = pytest.mark.system

BY_INTERFACE = """
[[vms]]
name = "left"
interface = "veth0"

[[vms]]
name = "right"
interface = "veth1"
"""
BY_NOTHING = """
[[vms]]
name = "left"
"""


@pytest.fixture
def network():
    with unbridged(["10.77.0.11", "10.77.0.12"]) as built:
        yield built


def status_of(network: Network, guest: int) -> int:
    return ask(network.guests[guest])[0]


def test_an_interface_that_enters_the_fleet_while_the_service_runs_is_heard(network: Network, tmp_path: Path):
    (tmp_path / "later.toml").write_text(BY_INTERFACE)
    with serving(network.host, BY_NOTHING, tmp_path) as operator:
        before = status_of(network, 0)

        operator.ask("fleet", "apply", str(tmp_path / "later.toml"))

        assert before == 404
        wait_until(lambda: status_of(network, 0) == 200, "the guest on veth0 to be heard")


def test_an_interface_that_is_made_anew_under_its_old_name_is_heard_again(network: Network, tmp_path: Path):
    with serving(network.host, BY_INTERFACE, tmp_path):
        before = status_of(network, 1)

        unplug(network.host, network.guests[1])
        plug_in_alone(network.host, network.guests[1], metric=9)

        assert before == 200
        wait_until(lambda: status_of(network, 1) == 200, "the guest on the new veth1 to be heard")


def test_an_interface_that_is_not_there_yet_keeps_nobody_from_being_heard(network: Network, tmp_path: Path):
    unplug(network.host, network.guests[1])

    with serving(network.host, BY_INTERFACE, tmp_path):
        heard = status_of(network, 0)
        plug_in_alone(network.host, network.guests[1], metric=9)

        assert heard == 200
        wait_until(lambda: status_of(network, 1) == 200, "the guest on the late veth1 to be heard")
