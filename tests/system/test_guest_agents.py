"""cloud-init and the Azure Linux agent, from two Debian releases, read the instance metadata."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running import ROOT
from tests.system.sandboxes import Sandboxes, readable_folder

pytestmark = pytest.mark.system

GUESTS = ROOT / ".venv-guests"
PROGRAMS = Path(__file__).parent / "programs"
RELEASES = ("bookworm", "trixie")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ops"
USER_DATA = base64.b64encode(b"#cloud-config\n{}\n").decode()

FLEET = f"""
[[availability_sets]]
name = "web"

[[vms]]
name = "web-0"
availability_set = "web"
update_domain = 2
computer_name = "web-zero"
resource_group = "shop"
addresses = ["10.4.0.4", "10.4.0.5", "fd00::4"]
mac = "00:0D:3A:F8:06:EC"
subnet = "10.4.0.0/20"
tags = {{ team = "blue" }}

[vms.compute]
vmSize = "Standard_D4s_v5"
publisher = "Canonical"
offer = "UbuntuServer"
sku = "18.04-LTS"
version = "18.04.202306070"
userData = "{USER_DATA}"
publicKeys = [{{ keyData = "{KEY}" }}]
osProfile = {{ adminUsername = "ops" }}
"""
PLAIN = '[[vms]]\nname = "plain"\n'


@pytest.fixture
def sandboxes() -> Iterator[Sandboxes]:
    with readable_folder() as folder:
        yield Sandboxes((), folder)


def read_with(program: str, release: str, sandboxes: Sandboxes, fleet: str) -> Any:
    """What the program of that release makes of the only VM's metadata."""
    (sandboxes.folder / "fleet.toml").write_text(fleet)
    ran = sandboxes.run(
        "--fleet",
        "fleet.toml",
        "--location",
        "westeurope",
        "--",
        str(GUESTS / "bin" / "python"),
        str(PROGRAMS / program),
        PYTHONPATH=str(GUESTS / release / "usr/lib/python3/dist-packages"),
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def complaints_in(found: Any) -> list[str]:
    """What cloud-init warned of, but for the network card that the test machine does not have."""
    return [each for each in found["complaints"] if "Unable to specify driver" not in each]


@pytest.mark.parametrize("release", RELEASES)
def test_cloud_init_configures_the_guest_from_its_metadata(release: str, sandboxes: Sandboxes):
    found = read_with("read_with_cloud_init.py", release, sandboxes, FLEET)

    assert complaints_in(found) == []
    assert found["is_network_valid"]
    (ethernet,) = found["network"]["ethernets"].values()
    assert ethernet["match"]["macaddress"] == "00:0d:3a:f8:06:ec"
    assert (ethernet["dhcp4"], ethernet["dhcp6"]) == (True, True)
    assert ethernet["addresses"] == ["10.4.0.5/20"]  # the first comes by DHCP
    assert found["ssh_keys"] == [KEY]
    assert (found["hostname"], found["username"], found["disable_password"]) == ("web-zero", "ops", True)
    assert base64.b64decode(found["user_data"]) == b"#cloud-config\n{}\n"
    assert (found["region"], found["size"], found["pps_type"]) == ("westeurope", "Standard_D4s_v5", "None")
    assert found["fault_domain"] == "0"


@pytest.mark.parametrize("release", RELEASES)
def test_cloud_init_is_content_with_a_vm_of_which_nothing_is_said(release: str, sandboxes: Sandboxes):
    found = read_with("read_with_cloud_init.py", release, sandboxes, PLAIN)

    assert complaints_in(found) == []
    assert found["is_network_valid"]
    (ethernet,) = found["network"]["ethernets"].values()
    assert ethernet["match"]["macaddress"].startswith("02:")
    assert (found["hostname"], found["disable_password"], found["ssh_keys"]) == ("plain", False, [])
    assert found["size"] == "Standard_D2s_v3"


@pytest.mark.parametrize("release", RELEASES)
def test_azure_linux_agent_finds_the_metadata_healthy(release: str, sandboxes: Sandboxes):
    found = read_with("read_with_waagent.py", release, sandboxes, FLEET)

    assert (found["is_healthy"], found["complaint"]) == (True, "")
    assert found["image_info"] == "Canonical:UbuntuServer:18.04-LTS:18.04.202306070"
    assert found["image_origin"] == 2  # one of the images that it knows
    compute = found["compute"]
    assert (compute["name"], compute["vmSize"], compute["location"]) == ("web-0", "Standard_D4s_v5", "westeurope")
    assert (compute["resourceGroupName"], compute["tags"]) == ("shop", "team:blue")
    assert (compute["platformUpdateDomain"], compute["osType"]) == ("2", "Linux")


@pytest.mark.parametrize("release", RELEASES)
def test_azure_linux_agent_is_content_with_a_vm_of_which_nothing_is_said(release: str, sandboxes: Sandboxes):
    found = read_with("read_with_waagent.py", release, sandboxes, PLAIN)

    assert (found["is_healthy"], found["complaint"]) == (True, "")
    assert found["compute"]["vmSize"] == "Standard_D2s_v3"
    assert found["image_origin"] == 3  # of the marketplace
