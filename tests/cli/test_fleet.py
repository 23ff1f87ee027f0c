"""`forewarn fleet`: from a file and back into one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import CommandLine, shown
from tests.cli.conftest import command_line
from tests.running import RunningService, running

FLEET = """\
[[hosts]]
name = "host-0"

[[hosts]]
name = "host-1"
zone = "1"

[[availability_sets]]
name = "web"

[[vms]]
name = "web-0"
host = "host-0"
availability_set = "web"

[[vms]]
name = "solo"
host = "host-1"
"""


@pytest.fixture
def fleet_file(tmp_path: Path) -> Path:
    file = tmp_path / "fleet.toml"
    file.write_text(FLEET)
    return file


def test_applying_a_fleet_says_every_difference(fleet_file: Path):
    with running() as service:
        cli = command_line(service)
        first = cli.says("fleet", "apply", str(fleet_file))
        again = cli.says("fleet", "apply", str(fleet_file))

    assert first == shown(
        "+ availability set web",
        "+ VM web-0",
        "+ VM solo",
        "+ host host-0",
        "+ host host-1",
        "5 changes applied.",
    )
    assert again == "Nothing differs.\n"


def test_a_changed_fleet_says_what_comes_what_goes_and_what_differs(fleet_file: Path):
    with running() as service:
        cli = command_line(service)
        cli.says("fleet", "apply", str(fleet_file))
        fleet_file.write_text(FLEET.replace('name = "solo"', 'name = "sola"').replace('zone = "1"', 'zone = "2"'))

        said = cli.says("fleet", "apply", str(fleet_file))

        assert [vm["name"] for vm in cli.json("vm", "list")["vms"]] == ["sola", "web-0"]
    assert said == shown("+ VM sola", "- VM solo", "~ host host-1: zone 1 -> 2", "3 changes applied.")


def test_a_program_is_given_the_differences(fleet_file: Path):
    with running() as service:
        cli = command_line(service)

        assert len(cli.json("fleet", "apply", str(fleet_file))["differences"]) == 5
        assert cli.json("fleet", "apply", str(fleet_file)) == {"differences": [], "warnings": []}


def test_a_scale_set_with_two_update_domains_on_one_host_is_taken_with_a_warning(fleet_file: Path):
    fleet_file.write_text(FLEET + '[[scale_sets]]\nname = "pool"\ncapacity = 3\nhosts = ["host-1"]\n')
    with running() as service:
        outcome = command_line(service)("fleet", "apply", str(fleet_file))

        assert len(service.get("/v1/scopes")["scopes"]) == 3
    assert outcome.code == 0
    assert outcome.err == (
        "Warning: pool has more than one update domain on host-1: work on such a host takes them down together.\n"
    )


@pytest.mark.parametrize(
    ("capacity", "minimum", "members", "fewer"),
    [(5, 5, "5 (pool_0, pool_1, pool_2 and 2 more)", 4), (1, 7, "1 (pool_0)", 0)],
    ids=["none to spare", "too few"],
)
def test_a_minimum_that_never_lets_anything_be_maintained_is_taken_with_a_warning(
    fleet_file: Path, capacity: int, minimum: int, members: str, fewer: int
):
    fleet_file.write_text(FLEET + pool(capacity, minimum))
    with running() as service:
        outcome = command_line(service)("fleet", "apply", str(fleet_file))

    assert outcome.code == 0
    assert outcome.err == (
        f"Warning: pool wants {minimum} VMs available and has {members}: maintenance of a host that holds one of "
        f"them is refused. Lower its min_available to {fewer}, or add VMs.\n"
    )


@pytest.mark.parametrize("capacity", [5, 0], ids=["one to spare", "empty"])
def test_a_minimum_that_leaves_some_to_spare_or_has_nothing_to_keep_is_no_warning(fleet_file: Path, capacity: int):
    fleet_file.write_text(FLEET + pool(capacity, 4))
    with running() as service:
        outcome = command_line(service)("fleet", "apply", str(fleet_file))

    assert (outcome.code, outcome.err) == (0, "")


def pool(capacity: int, minimum: int) -> str:
    return f'[[scale_sets]]\nname = "pool"\ncapacity = {capacity}\nmin_available = {minimum}\n'


def test_fleet_show_counts_what_there_is(still: CommandLine):
    assert still.says("fleet", "show") == shown(
        "6 hosts, 14 VMs",
        "NAME    KIND              RESOURCE GROUP  VMS",
        "web     availability set  default         3",
        "pool    scale set         default         3",
        "spot    scale set         default         2",
        "legacy  cloud service     default         2",
        "        standalone                        4",
    )


@pytest.mark.parametrize(
    ("fleet", "said"),
    [
        (None, "There is nothing. Apply a fleet: forewarn fleet apply FILE\n"),
        ({"hosts": [{"name": "host-0"}]}, "1 host, 0 VMs\n"),
        (
            {"vms": [{"name": "solo"}]},
            "1 host, 1 VM\nNAME  KIND        RESOURCE GROUP  VMS\n      standalone                  1\n",
        ),
    ],
    ids=["nothing", "a host alone", "a VM with a host of its own"],
)
def test_fleet_show_counts_right_when_there_is_little(fleet: dict | None, said: str):
    with running(fleet) as service:
        assert command_line(service).says("fleet", "show") == said


def test_a_program_is_given_the_fleet_in_the_words_of_a_fleet_file(still: CommandLine):
    shown_fleet, exported = still.json("fleet", "show"), still.json("fleet", "export")

    assert shown_fleet == exported
    assert set(exported) == {"hosts", "availability_sets", "scale_sets", "cloud_services", "vms"}


def test_an_exported_fleet_applied_again_changes_nothing(cli: CommandLine, tmp_path: Path):
    file = tmp_path / "exported.toml"
    file.write_text(cli.says("fleet", "export"))

    assert cli.says("fleet", "apply", str(file)) == "Nothing differs.\n"


def test_an_exported_fleet_makes_the_same_fleet_elsewhere(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    file = tmp_path / "exported.toml"
    file.write_text(cli.says("fleet", "export"))

    with running() as other:
        command_line(other).says("fleet", "apply", str(file))

        assert sorted_by_name(other.get("/v1/fleet")) == sorted_by_name(service.get("/v1/fleet"))


def sorted_by_name(fleet: dict) -> dict:
    return {section: sorted(entries, key=lambda entry: entry["name"]) for section, entries in fleet.items()}


def test_an_export_says_only_what_is_not_so_anyway():
    fleet = {
        "hosts": [{"name": "host-0", "fault_domain": 1}],
        "availability_sets": [{"name": "web", "spread": False}],
        "vms": [
            {"name": "web-0", "host": "host-0", "availability_set": "web"},
            {"name": "solo", "tags": {"team": 'the "blue"\x7f one'}, "terminate_notification": "PT5M"},
        ],
    }
    with running(fleet) as service:
        exported = command_line(service).says("fleet", "export")

    assert exported == shown(
        "[[hosts]]",
        'name = "host-0"',
        "fault_domain = 1",
        "",
        "[[availability_sets]]",
        'name = "web"',
        "spread = false",
        "",
        "[[vms]]",
        'name = "solo"',
        'terminate_notification = "PT5M"',
        'tags = { "team" = "the \\"blue\\"\\u007f one" }',
        "",
        "[[vms]]",
        'name = "web-0"',
        'host = "host-0"',
        'availability_set = "web"',
        "update_domain = 0",
    )


def test_an_export_is_in_the_order_of_names_with_numbers_by_their_value():
    with running({"hosts": [{"name": name} for name in ("h-10", "h-9", "a", "h-1")]}) as service:
        exported = command_line(service).says("fleet", "export")

    assert [line for line in exported.splitlines() if "name" in line] == [
        'name = "a"', 'name = "h-1"', 'name = "h-9"', 'name = "h-10"',
    ]  # fmt: skip


def test_tags_with_any_character_survive_export_and_apply(tmp_path: Path):
    odd = {"every \u0000\u0001\t\n\r\u001f\u007f\u0085\u2028\\\"' one": "ünï 🎉 #=[]{}"}
    file = tmp_path / "exported.toml"
    with running({"hosts": [{"name": "host-0", "tags": odd}]}) as service:
        cli = command_line(service)
        file.write_text(cli.says("fleet", "export"), encoding="utf-8")

        said = cli.says("fleet", "apply", str(file))

    assert said == "Nothing differs.\n"


def test_the_fleet_of_json_is_the_fleet_of_toml(fleet_file: Path):
    entries = {
        "hosts": [{"name": "host-0"}, {"name": "host-1", "zone": "1"}],
        "availability_sets": [{"name": "web"}],
        "vms": [
            {"name": "web-0", "host": "host-0", "availability_set": "web"},
            {"name": "solo", "host": "host-1"},
        ],
    }
    with running(json.loads(json.dumps(entries))) as service:
        assert command_line(service).says("fleet", "apply", str(fleet_file)) == "Nothing differs.\n"
