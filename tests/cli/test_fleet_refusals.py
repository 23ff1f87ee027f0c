"""Fleet files that are refused: as a whole, with the line and what to do, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.command import CommandLine, shown
from tests.running import RunningService

# Each breaks one rule; {file} stands for its name.
BROKEN = {
    "a host named twice": (
        '[[hosts]]\nname = "h"\n[[hosts]]\nname = "h"\n',
        "{file}:4: The host name h is used twice. Give one of the two another name.",
    ),
    "an interface that no kernel would name": (
        '[[vms]]\nname = "a"\ninterface = "tap/0"\n',
        (
            "{file}:3: 'tap/0' cannot be the name of an interface. "
            "Give up to 15 characters without spaces and slashes, as ip link shows them."
        ),
    ),
    "a text with a NUL": (
        '[[vms]]\nname = "a"\nzone = "b\\u0000"\n',
        "{file}:3: zone holds a NUL character. Leave it out.",
    ),
    "a VM named twice, in another case": (
        '[[vms]]\nname = "a"\n\n[[vms]]\n# the same\nname = "A"\n',
        "{file}:6: The VM name A is used twice. Give one of the two another name.",
    ),
    "a VM named like an instance": (
        '[[scale_sets]]\nname = "pool"\ncapacity = 2\n[[vms]]\nname = "pool_1"\n',
        "{file}:4: The VM name pool_1 is used twice: pool has such an instance. Give this one another name.",
    ),
    "a scale set whose instances would have too long a name": (
        f'[[scale_sets]]\nname = "{"p" * 79}"\ncapacity = 2\n',
        (
            f"{{file}}:2: '{'p' * 79}_1' cannot be the name of a VM. Use letters, digits, '_', '-' and '.', "
            "at most 80 of them, not beginning with '-' or '.'."
        ),
    ),
    "two sets of one name": (
        '[[availability_sets]]\nname = "s"\n[[cloud_services]]\nname = "s"\n',
        "{file}:4: The set name s is used twice. Give one of the two another name.",
    ),
    "an unknown key": (
        '[[vms]]\nname = "a"\nhots = "h"\n',
        "{file}:3: vms have no key hots. Did you mean host?",
    ),
    "an unknown key that resembles none": (
        '[[cloud_services]]\nname = "a"\nxyzzy = 1\n',
        (
            "{file}:3: cloud_services have no key xyzzy. "
            "Known are: name, resource_group, health_check, min_available."
        ),
    ),
    "an unknown section": (
        '[[hosts]]\nname = "h"\n[[machines]]\nname = "a"\n',
        (
            "{file}:3: There is no section machines. "
            "Known are: hosts, availability_sets, scale_sets, cloud_services, vms."
        ),
    ),
    "a host that does not exist": (
        '[[vms]]\nname = "a"\nhost = "nowhere"\n',
        '{file}:3: There is no host nowhere. Add [[hosts]] with name = "nowhere".',
    ),
    "a scale set on a host that does not exist": (
        '[[scale_sets]]\nname = "pool"\nhosts = [\n  "nowhere",\n]\n',
        '{file}:3: There is no host nowhere. Add [[hosts]] with name = "nowhere".',
    ),
    "a set that does not exist": (
        '[[vms]]\nname = "a"\navailability_set = "web"\n',
        (
            "{file}:3: a belongs to the availability set web, which does not exist. "
            'Add [[availability_sets]] with name = "web".'
        ),
    ),
    "two sets for one VM": (
        (
            '[[availability_sets]]\nname = "s"\n[[cloud_services]]\nname = "c"\n'
            '[[vms]]\nname = "a"\navailability_set = "s"\ncloud_service = "c"\n'
        ),
        "{file}:8: a belongs to availability_set and cloud_service. It can belong to one set.",
    ),
    "two update domains of a set on one host": (
        (
            '[[hosts]]\nname = "h"\n[[availability_sets]]\nname = "web"\n'
            '[[vms]]\nname = "web-0"\navailability_set = "web"\nhost = "h"\n'
            '[[vms]]\nname = "web-1"\navailability_set = "web"\nhost = "h"\n'
        ),
        (
            "{file}:12: web-1 (update domain 1) and web-0 (update domain 0) of web are both on h. "
            "Put one on another host, or say spread = false in the availability set web."
        ),
    ),
    "an address of two VMs": (
        '[[vms]]\nname = "a"\naddresses = ["10.0.0.4"]\n[[vms]]\nname = "b"\naddresses = ["10.0.0.4"]\n',
        (
            "{file}:6: The address 10.0.0.4 of b is already that of a. "
            "A guest is recognised by its address: give each its own."
        ),
    ),
    "an address that is none": (
        '[[vms]]\nname = "a"\naddresses = ["10.0.0.400"]\n',
        '{file}:3: \'10.0.0.400\' is no IP address. Write it like "10.0.0.4" or "fd00::4".',
    ),
    "another zone than the host": (
        '[[hosts]]\nname = "h"\nzone = "1"\n[[vms]]\nname = "a"\nhost = "h"\nzone = "2"\n',
        "{file}:7: a is in zone 2, but its host h is in zone 1. Give it a host of its own zone.",
    ),
    "a number out of range": (
        '[[availability_sets]]\nname = "web"\nupdate_domains = 21\n',
        "{file}:3: update_domains is 21. It can be 1 to 20.",
    ),
    "an update domain that the set does not have": (
        '[[availability_sets]]\nname = "web"\n[[vms]]\nname = "a"\navailability_set = "web"\nupdate_domain = 5\n',
        "{file}:6: update_domain is 5. It can be 0 to 4.",
    ),
    "too long a terminate notice": (
        '[[vms]]\nname = "a"\nterminate_notification = "PT16M"\n',
        "{file}:3: terminate_notification is 960 seconds. It can be PT5M to PT15M.",
    ),
    "a Spot VM with a terminate notice": (
        '[[vms]]\nname = "a"\npriority = "Spot"\nterminate_notification = "PT5M"\n',
        (
            "{file}:4: a is Spot and cannot have terminate_notification. "
            "Remove terminate_notification, or set priority to Regular."
        ),
    ),
    "a Spot scale set with a terminate notice": (
        '[[scale_sets]]\nname = "pool"\nterminate_notification = true\npriority = "Spot"\n',
        (
            "{file}:3: pool is Spot and cannot have terminate_notification. "
            "Remove terminate_notification, or set priority to Regular."
        ),
    ),
    "malformed TOML": (
        '[[hosts]]\nname = "h"\nzone = \n',
        "{file}:3: Invalid value. Mend the TOML syntax.",
    ),
    "TOML that ends too early": (
        '[[hosts]]\nname = "h"\ntags = { a = "b"',
        "{file}:3: Unclosed inline table. Mend the TOML syntax.",
    ),
    "text for a number": (
        '[[scale_sets]]\nname = "pool"\ncapacity = "3"\n',
        "{file}:3: capacity cannot be used: expected `int`, got `str`. Write a whole number.",
    ),
    "a number for text": (
        "[[vms]]\nname = 5\n",
        "{file}:2: name cannot be used: expected `str`, got `int`. Write a text in quotes.",
    ),
    "a date for text": (
        "[[vms]]\nname = 2026-03-02\n",
        "{file}:2: name cannot be used: expected `str`, got `date`. Write a text in quotes.",
    ),
    "a word that is not one of those": (
        '[[vms]]\nname = "a"\npriority = "spot"\n',
        "{file}:3: priority cannot be used: invalid enum value 'spot'. It can be Regular or Spot.",
    ),
    "a word in a list that is not one of those": (
        '[[vms]]\nname = "a"\nauto_approve = ["x"]\n',
        (
            "{file}:3: auto_approve cannot be used: invalid enum value 'x'. "
            "It can be Reboot, Redeploy or AllInstancesDown."
        ),
    ),
    "an entry without a name": (
        '[[hosts]]\nname = "h"\n[[hosts]]\nzone = "1"\n',
        "{file}:3: This entry has no name. Give it a name.",
    ),
    "a table where a list belongs": (
        '[hosts]\nname = "h"\n',
        "{file}:1: hosts is not a list. Write [[hosts]] above every entry.",
    ),
    "a value where a list belongs": (
        'vms = "web-0"\n',
        "{file}:1: vms is not a list. Write [[vms]] above every entry.",
    ),
}


@pytest.fixture
def refuses(still: CommandLine, tmp_path: Path) -> Callable[[str | bytes], str]:
    """What is said about a fleet file that has to be refused, without the file's folder."""

    def apply(text: str | bytes) -> str:
        file = tmp_path / "fleet.toml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        before = still.json("fleet", "export")
        code, complaint = still.complains("fleet", "apply", str(file))
        assert (code, still.json("fleet", "export")) == (1, before)
        return complaint.replace(str(file), "fleet.toml")

    return apply


@pytest.mark.parametrize(("text", "refusal"), BROKEN.values(), ids=BROKEN.keys())
def test_a_fleet_that_breaks_a_rule_is_refused_with_the_line_and_what_to_do(
    refuses: Callable[[str], str], text: str, refusal: str
):
    assert refuses(text) == f"error: {refusal.format(file='fleet.toml')}\n"


def test_every_broken_rule_is_told_at_once(refuses: Callable[[str], str]):
    text = '[[vms]]\nname = "a"\nhost = "x"\n[[vms]]\nname = "a"\nhost = "y"\n'

    assert refuses(text) == shown(
        'error: fleet.toml:3: There is no host x. Add [[hosts]] with name = "x".',
        "       fleet.toml:5: The VM name a is used twice. Give one of the two another name.",
        '       fleet.toml:6: There is no host y. Add [[hosts]] with name = "y".',
    )


@pytest.mark.parametrize("value", ["-1", "1000", "9223372036854775808"])
def test_a_fault_domain_out_of_range_is_refused(refuses: Callable[[str], str], value: str):
    refusal = refuses(f'[[hosts]]\nname = "h"\nfault_domain = {value}\n')

    assert refusal == f"error: fleet.toml:3: fault_domain is {value}. It can be 0 to 999.\n"


def test_a_file_that_is_no_text_is_refused(refuses: Callable[[bytes], str]):
    assert refuses(b"\xff\xfe") == shown("error: fleet.toml is not UTF-8 text.", "hint:  Save it as UTF-8.")


def test_a_file_that_is_not_there_is_refused_with_exit_1(still: CommandLine, tmp_path: Path):
    missing = tmp_path / "missing.toml"

    assert still.complains("fleet", "apply", str(missing)) == (
        1,
        shown(f"error: {missing} cannot be read: No such file or directory.", "hint:  Name another file."),
    )


# What the fleet that is there does not allow.


def exported(cli: CommandLine, tmp_path: Path) -> tuple[Path, str]:
    text = cli.says("fleet", "export")
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    return file, text


def line_of(text: str, wanted: str) -> int:
    return text[: text.index(wanted)].count("\n") + 1


def test_a_fleet_that_drops_a_vm_with_an_open_operation_is_refused(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    service.guest("solo").document()
    cli.says("vm", "restart", "solo")
    file, text = exported(cli, tmp_path)
    file.write_text("[[vms]]".join(part for part in text.split("[[vms]]") if 'name = "solo"' not in part))

    outcome = cli.complains("fleet", "apply", str(file))

    assert outcome == (
        1,
        (
            f"error: {file}: solo has an open operation; it cannot be dropped. "
            "Keep it until the operation has ended, or cancel that.\n"
        ),
    )
    assert cli.says("fleet", "export") == text


def test_a_fleet_that_moves_a_vm_with_an_open_operation_is_refused_with_its_line(
    service: RunningService, cli: CommandLine, tmp_path: Path
):
    service.guest("solo").document()
    cli.says("vm", "restart", "solo")
    file, text = exported(cli, tmp_path)
    at = text.index('name = "solo"')
    moved = text[:at] + text[at:].replace('host = "host-0"', 'host = "host-5"', 1)
    file.write_text(moved)

    outcome = cli.complains("fleet", "apply", str(file))

    line = line_of(moved, 'name = "solo"') - 1
    assert outcome == (
        1,
        (
            f"error: {file}:{line}: solo has an open operation; it cannot be moved to host-5. "
            "Wait until it has ended, or cancel it.\n"
        ),
    )
    assert cli.says("fleet", "export") == text


def test_a_vm_cannot_change_its_set_and_a_set_cannot_change_its_kind(cli: CommandLine, tmp_path: Path):
    file, text = exported(cli, tmp_path)
    file.write_text(
        text.replace('[[cloud_services]]\nname = "legacy"', '[[availability_sets]]\nname = "legacy"')
        .replace("cloud_service =", "availability_set =")
        .replace('availability_set = "web"', 'availability_set = "legacy"')
    )

    code, complaint = cli.complains("fleet", "apply", str(file))

    changed = file.read_text()
    at_legacy = line_of(changed, 'name = "legacy"')
    assert code == 1
    assert (
        f"error: {file}:{at_legacy}: legacy is a cloud service already. "
        "Give this one another name, or apply a fleet without it first.\n"
    ) in complaint
    assert (
        "web-0 belongs to web; it cannot move to legacy. Apply a fleet without it first, then one with it.\n"
    ) in complaint
    lines = [int(line.split(f"{file}:")[1].split(":")[0]) for line in complaint.splitlines()]
    assert lines == sorted(lines)
    assert cli.says("fleet", "export") == text
