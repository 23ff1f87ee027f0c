"""`forewarn fleet check` without a service, and `fleet diff` against one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import CommandLine, forewarn
from tests.running import free_port

GOOD = """
[[hosts]]
name = "h0"

[[availability_sets]]
name = "web"

[[vms]]
name = "web-0"
host = "h0"
availability_set = "web"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "fleet.toml"
    made.write_text(GOOD)
    return made


@pytest.fixture
def nowhere() -> dict[str, str]:
    """The address of no service."""
    return {"FOREWARN_URL": f"http://127.0.0.1:{free_port()}"}


def test_a_valid_file_is_counted_without_a_service(file: Path, nowhere: dict[str, str]):
    outcome = forewarn("fleet", "check", str(file), **nowhere)

    assert outcome == (0, f"{file} is valid: 1 host, 1 VM, 1 set.\n", "")


def test_a_program_is_told_counts_and_warnings(file: Path, nowhere: dict[str, str]):
    file.write_text(GOOD.replace('name = "web"\n', 'name = "web"\nmin_available = 1\n'))

    outcome = forewarn("fleet", "check", str(file), "--json", **nowhere)

    told = json.loads(outcome.out)
    assert (told["hosts"], told["vms"], told["sets"], len(told["warnings"])) == (1, 1, 1, 1)


def test_a_warning_goes_to_stderr_and_the_file_stays_valid(file: Path, nowhere: dict[str, str]):
    file.write_text(GOOD.replace('name = "web"\n', 'name = "web"\nmin_available = 1\n'))

    outcome = forewarn("fleet", "check", str(file), **nowhere)

    assert outcome.code == 0
    assert outcome.err.startswith("Warning: web wants 1 VMs available")


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ('[[vms]]\nname = "x"\nhost = "h9"\n', ":14: "),
        ('[[vms]]\nname = "x"\ncolour = 1\n', ":14: "),
        ('[[vms]]\nname = "web-1"\nhost = "h0"\navailability_set = "web"\nupdate_domain = 1\n', ":14: "),
        ('[[scale_sets]]\nname = "pool"\ncapacity = 1\n\n[[vms]]\nname = "pool_0"\n', ":16: "),
        ("[[vms]\n", ":12: "),
    ],
    ids=["unknown host", "unknown key", "two domains on a host", "name of an instance", "no TOML"],
)
def test_what_a_service_would_refuse_is_refused_with_its_line(
    file: Path, nowhere: dict[str, str], more: str, place: str
):
    file.write_text(f"{GOOD}{more}")

    outcome = forewarn("fleet", "check", str(file), **nowhere)

    assert (outcome.code, outcome.out) == (1, "")
    assert f"{file}{place}" in outcome.err


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path):
    outcome = forewarn("fleet", "check", str(tmp_path / "none.toml"))

    assert (outcome.code, "cannot be read" in outcome.err) == (1, True)


# Against a service.


def test_diff_shows_how_the_fleet_differs_and_changes_nothing(cli: CommandLine, file: Path):
    before = cli.says("fleet", "export")

    shown = cli.says("fleet", "diff", str(file))

    assert "+ host h0\n" in shown
    assert "- VM solo\n" in shown
    assert cli.says("fleet", "export") == before


def test_diff_of_the_fleet_itself_finds_nothing(cli: CommandLine, file: Path):
    file.write_text(cli.says("fleet", "export"))

    assert cli.says("fleet", "diff", str(file)) == "Nothing differs.\n"
    assert cli.json("fleet", "diff", str(file)) == {"differences": [], "warnings": []}
    assert cli("fleet", "diff", str(file), "--exit-code").code == 0


def test_diff_can_tell_a_script_that_something_differs(cli: CommandLine, file: Path):
    assert cli("fleet", "diff", str(file)).code == 0
    assert cli("fleet", "diff", str(file), "--exit-code").code == 1


def test_diff_refuses_what_apply_refuses_with_its_line(cli: CommandLine, file: Path):
    file.write_text(GOOD.replace('name = "web"\n', 'name = "pool"\n').replace('= "web"', '= "pool"'))

    code, complaint = cli.complains("fleet", "diff", str(file))

    assert (code, complaint.startswith(f"error: {file}:6: pool is a scale set already.")) == (1, True), complaint
    assert cli.complains("fleet", "apply", str(file)) == (code, complaint)
