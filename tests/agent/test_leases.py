"""DHCP option 245 where DHCP clients leave it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forewarn.agent.endpoints import Endpoints, read_root
from forewarn.agent.leases import addresses_in, find_told_addresses
from forewarn.agent.settings import AZURE, DISCOVER

DHCLIENT = """\
default-duid "\\000\\001\\000\\001*\\021'\\377\\000\\015:\\342\\204\\334";
lease {
  interface "eth0";
  fixed-address 10.0.0.4;
  server-name "AMS06";
  option subnet-mask 255.255.255.0;
  option dhcp-lease-time 4294967295;
  option routers 10.0.0.1;
  option dhcp-message-type 5;
  option dhcp-server-identifier 168.63.129.16;
  option domain-name-servers 168.63.129.16;
  option rfc3442-classless-static-routes 0,10,0,0,1,32,168,63,129,16,10,0,0,1;
  option unknown-245 OPTION;
  option domain-name "example.internal";
  renew 5 2036/03/10 09:03:39;
  rebind 5 2036/03/10 09:03:39;
  expire 5 2036/03/10 09:03:39;
}
"""
NETWORKD = """\
# This is private data. Do not parse.
ADDRESS=10.0.0.4
NETMASK=255.255.255.0
ROUTER=10.0.0.1
SERVER_ADDRESS=168.63.129.16
T1=1800
T2=3150
LIFETIME=3600
DNS=168.63.129.16
DOMAINNAME=example.internal
CLIENTID=ff405663a200020000ab11332859494d7a8b4c
OPTION_245=a83f8110
"""
WIRESERVER = "168.63.129.16"


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("a8:3f:81:10", WIRESERVER),
        ("A8:3F:81:10", WIRESERVER),
        ("a:4d:0:9", "10.77.0.9"),
        ('"ABCD"', "65.66.67.68"),
        ('"A\\"C\\\\"', "65.34.67.92"),
        ('"\\250?\\201\\020"', WIRESERVER),
        ("168.63.129.16", WIRESERVER),
    ],
    ids=["hex", "capitals", "short hex", "letters", "escaped letters", "octal", "dots"],
)
def test_what_dhclient_writes_is_read_in_every_form(written: str, address: str):
    assert addresses_in(DHCLIENT.replace("OPTION", written)) == [address]


@pytest.mark.parametrize("name", ["unknown-245", "option-245", "245"])
def test_what_dhclient_calls_the_option_does_not_matter(name: str):
    lease = DHCLIENT.replace("unknown-245 OPTION", f"{name} a8:3f:81:10")

    assert addresses_in(lease) == [WIRESERVER]


@pytest.mark.parametrize(
    "written",
    [
        "a8:3f:81",
        "a8:3f:81:10:20",
        "00:00:00:00",
        "ff:ff:ff:ff",
        "7f:0:0:1",
        "e0:0:0:1",
        "zz:3f:81:10",
        '""',
        "-1:3f:81:10",
    ],
)
def test_what_is_no_address_of_another_machine_is_left_out(written: str):
    assert addresses_in(DHCLIENT.replace("OPTION", written)) == []


def test_the_last_lease_of_an_interface_is_the_one_that_counts():
    old, new = DHCLIENT.replace("OPTION", "0a:00:00:01"), DHCLIENT.replace("OPTION", "a8:3f:81:10")

    assert addresses_in(old + new) == [WIRESERVER]


def test_a_later_lease_without_the_option_takes_it_away():
    old, new = DHCLIENT.replace("OPTION", "0a:00:00:01"), DHCLIENT.replace("  option unknown-245 OPTION;\n", "")

    assert addresses_in(old + new) == []


def test_leases_of_several_interfaces_count_the_newest_first():
    first = DHCLIENT.replace("OPTION", "0a:00:00:01")
    second = DHCLIENT.replace("OPTION", "a8:3f:81:10").replace("eth0", "eth1")

    assert addresses_in(first + second) == [WIRESERVER, "10.0.0.1"]


def test_what_systemd_networkd_writes_is_read():
    assert addresses_in(NETWORKD) == [WIRESERVER]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lease {",
        "lease { option unknown-245",
        "\0" * 1000,
        "OPTION_245=",
        "OPTION_245=a8",
        "# OPTION_245=a83f8110",
    ],
)
def test_a_file_that_makes_no_sense_tells_nothing(text: str):
    assert addresses_in(text) == []


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("var/lib/dhcp/dhclient.leases", DHCLIENT.replace("OPTION", "a8:3f:81:10")),
        ("var/lib/dhcp/dhclient.eth0.leases", DHCLIENT.replace("OPTION", "a8:3f:81:10")),
        ("var/lib/dhclient/dhclient--eth0.lease", DHCLIENT.replace("OPTION", "a8:3f:81:10")),
        ("var/lib/NetworkManager/dhclient-7e73a292-eth0.lease", DHCLIENT.replace("OPTION", "a8:3f:81:10")),
        ("var/lib/NetworkManager/nm-7e73a292-eth0.lease", DHCLIENT.replace("OPTION", "a8:3f:81:10")),
        ("var/lib/NetworkManager/internal-7e73a292-eth0.lease", NETWORKD),
        ("run/systemd/netif/leases/2", NETWORKD),
    ],
    ids=["dhclient", "dhclient per interface", "Red Hat", "NM with dhclient", "NM", "NM's own client", "networkd"],
)
def test_a_lease_is_found_where_each_client_leaves_it(tmp_path: Path, file: str, content: str):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(content)

    assert find_told_addresses(root=tmp_path) == [WIRESERVER]


def test_the_newest_file_is_asked_first_and_an_address_once(tmp_path: Path):
    leases = tmp_path / "run/systemd/netif/leases"
    leases.mkdir(parents=True)
    for age, (name, said) in enumerate({"4": "0a000001", "3": "a83f8110", "2": "0a000001"}.items()):
        (leases / name).write_text(f"OPTION_245={said}\n")
        os.utime(leases / name, (1000 - age, 1000 - age))

    assert find_told_addresses(root=tmp_path) == ["10.0.0.1", WIRESERVER]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path):
    leases = tmp_path / "run/systemd/netif/leases"
    (leases / "a-directory").mkdir(parents=True)
    (leases / "dangling").symlink_to(tmp_path / "nowhere")
    (leases / "bytes").write_bytes(b"\xff\xfe\nOPTION_245=a83f8110\n")

    assert find_told_addresses(root=tmp_path) == [WIRESERVER]


def test_only_the_end_of_a_very_long_file_is_read(tmp_path: Path):
    leases = tmp_path / "var/lib/dhcp"
    leases.mkdir(parents=True)
    filler = "# nothing\n" * 200_000
    (leases / "dhclient.leases").write_text(filler + DHCLIENT.replace("OPTION", "a8:3f:81:10"))

    assert find_told_addresses(root=tmp_path) == [WIRESERVER]


# Where to ask, in all.


def test_discovery_asks_the_environment_then_dhcp_then_azures_address():
    found = Endpoints((DISCOVER,), {"SCHEDULEDEVENTSIP": "10.0.0.9"}, lambda: [WIRESERVER]).roots()

    assert [root.text for root in found] == ["http://10.0.0.9", f"http://{WIRESERVER}", AZURE]


def test_discovery_without_anything_asks_azures_address():
    assert [root.text for root in Endpoints((DISCOVER,), {}, list).roots()] == [AZURE]


def test_nonsense_in_the_environment_is_refused_where_the_environment_is_asked():
    nonsense = {"SCHEDULEDEVENTSIP": "10.0.0.9:http"}

    with pytest.raises(ValueError, match=r"SCHEDULEDEVENTSIP is '10\.0\.0\.9:http', which is no address"):
        Endpoints((DISCOVER,), nonsense, list)
    assert [root.text for root in Endpoints((AZURE,), nonsense, list).roots()] == [AZURE]


def test_nonsense_in_a_lease_is_passed_over():
    assert [root.text for root in Endpoints((DISCOVER,), {}, lambda: ["a lease:"]).roots()] == [AZURE]


def test_an_endpoint_that_is_named_twice_is_asked_once():
    found = Endpoints(("http://10.0.0.9", DISCOVER), {"SCHEDULEDEVENTSIP": "10.0.0.9"}, list).roots()

    assert [root.text for root in found] == ["http://10.0.0.9", AZURE]


def test_a_lease_that_comes_later_is_found():
    told: list[str] = []
    endpoints = Endpoints((DISCOVER,), {}, lambda: told)
    before = len(endpoints.roots())

    told.append(WIRESERVER)

    assert (before, len(endpoints.roots())) == (1, 2)


@pytest.mark.parametrize(
    ("text", "address", "prefix"),
    [
        ("http://169.254.169.254", ("169.254.169.254", 80), ""),
        ("http://169.254.169.254/", ("169.254.169.254", 80), ""),
        ("10.0.0.9", ("10.0.0.9", 80), ""),
        ("10.0.0.9:8080", ("10.0.0.9", 8080), ""),
        ("http://localhost:8254/metadata/scheduledevents", ("localhost", 8254), ""),
        ("http://localhost:8254/metadata/scheduledEvents?api-version=2020-07-01", ("localhost", 8254), ""),
        ("http://localhost:8254/metadata/", ("localhost", 8254), ""),
        ("http://localhost/vms/web-0", ("localhost", 80), "/vms/web-0"),
        ("http://[fd00::1]:8254", ("fd00::1", 8254), ""),
        ("unix:/run/forewarn.sock", "/run/forewarn.sock", ""),
    ],
)
def test_an_endpoint_may_be_written_in_the_ways_that_people_write_it(text: str, address: object, prefix: str):
    root = read_root(text)

    assert (root.address, root.prefix) == (address, prefix)


@pytest.mark.parametrize(
    "text", ["", "http://", "https://host", "ftp://host", "http://host:port", "http://host:0", "a b"]
)
def test_what_is_no_endpoint_is_refused_with_what_to_say_instead(text: str):
    with pytest.raises(ValueError, match="say http://HOST"):
        read_root(text)
