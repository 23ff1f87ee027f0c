"""The reference pages say what the code says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from forewarn.config import SETTINGS, Settings
from forewarn.core.fleet_spec import FleetSpec
from forewarn.core.fleet_words import KEYS, TABLES
from forewarn.core.phase import TRANSITIONS
from forewarn.core.refusal import Code
from forewarn.edge.limits import IN_WORDS, GuestLimits
from forewarn.operator import refusals
from forewarn.wire.arm import parts
from forewarn.wire.arm.meanings import MEANINGS
from forewarn.wire.http import Answer
from forewarn.wire.imds import errors
from tests.running import RunningService
from tools import reference
from tools.pages import state_diagram
from tools.reference import PAGES, find_stale, write

WHOLE_PAGES = [name for name, page in PAGES.items() if page.file.startswith("docs/reference/")]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str):
    stale = find_stale(name)

    assert not stale, stale


@pytest.mark.parametrize("name", WHOLE_PAGES)
def test_a_page_that_was_changed_by_hand_is_found_and_can_be_renewed(name: str, tmp_path: Path):
    write(name, tmp_path)
    fresh = find_stale(name, tmp_path)
    file = tmp_path / PAGES[name].file
    file.write_text(file.read_text(encoding="utf-8").replace("| ", "| not ", 1) + "\n", encoding="utf-8")

    stale = find_stale(name, tmp_path)
    renewed = write(name, tmp_path)

    assert fresh == ""
    assert f"{PAGES[name].file} is not what the code says" in stale
    assert f"make docs, or .venv/bin/python -m tools.reference {name}" in stale
    assert renewed
    assert find_stale(name, tmp_path) == ""


def test_the_check_of_a_stale_page_exits_1_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    ending = reference.main(["--check", "metrics"], tmp_path)

    assert ending == 1
    assert "docs/reference/metrics.md is not what the code says" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_page_is_refused_and_the_known_ones_are_named(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        reference.main(["--check", "nonsense"])

    assert "there is no page nonsense; there are cli, settings, agent" in capsys.readouterr().err


def test_the_state_diagram_fills_its_place_and_leaves_everything_else(tmp_path: Path):
    file = tmp_path / "ARCHITECTURE.md"
    file.write_text(f"before\n\n{state_diagram.BEGIN}\nold\n{state_diagram.END}\n\nafter\n", encoding="utf-8")

    is_changed = write("state-diagram", tmp_path)

    text = file.read_text(encoding="utf-8")
    assert is_changed
    assert text.startswith(f"before\n\n{state_diagram.BEGIN}\n```mermaid\nstateDiagram-v2\n    [*] --> Scheduled")
    assert text.endswith(f"```\n{state_diagram.END}\n\nafter\n")
    assert "old" not in text
    assert not write("state-diagram", tmp_path)


def test_a_page_without_a_place_for_the_diagram_is_told_so(tmp_path: Path):
    (tmp_path / "ARCHITECTURE.md").write_text("before\n", encoding="utf-8")

    assert "there is no place for the state diagram" in find_stale("state-diagram", tmp_path)


def test_every_transition_is_an_arrow_of_the_diagram():
    arrows = state_diagram.draw().splitlines()[1:]

    steps = [arrow for arrow in arrows if ": " in arrow]
    assert len(steps) == len(TRANSITIONS)
    assert "    Started --> Completed: complete" in steps


# Where a page is made from words beside the code, no word is missing.


def test_every_key_of_a_fleet_file_has_its_words():
    tables = {kind: set(words) for kind, words in KEYS.items()}

    assert set(TABLES) == set(KEYS)
    assert tables == {kind: {each.name for each in fields(kind)} for kind in KEYS}
    assert len(KEYS) == len(fields(FleetSpec))


def test_every_refusal_of_the_metadata_endpoint_has_its_occasion():
    made = [value for value in vars(errors).values() if isinstance(value, Answer)]

    assert [each for each in made if each not in [answer for answer, _ in errors.OCCASIONS]] == []


def test_every_limit_on_guests_has_its_words():
    assert set(IN_WORDS) == {each.name for each in fields(GuestLimits)}


def test_every_code_of_an_operators_refusal_has_its_status_and_occasion():
    assert set(refusals.OCCASIONS) == {*Code, *refusals.TroubleCode}


def paths(body: type[msgspec.Struct], before: str = "") -> Iterator[str]:
    """The members that a body is read for, down to the last."""
    for field in msgspec.structs.fields(body):
        path = f"{before}{field.encode_name}"
        below = [
            each for each in get_args(field.type) if isinstance(each, type) and issubclass(each, msgspec.Struct)
        ]
        yield from paths(below[0], f"{path}.") if below else [path]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("virtualMachines", parts.VmBody),
        ("virtualMachineScaleSets", parts.ScaleSetBody),
        ("availabilitySets", parts.SetBody),
        ("resourceGroups", parts.GroupBody),
    ],
)
def test_every_member_of_an_arm_body_that_is_read_has_its_meaning(kind: str, body: type[msgspec.Struct]):
    told = list(MEANINGS[kind])

    read = list(paths(body))

    silent = [path for path in read if not any(path == name or path.startswith(f"{name}.") for name in told)]
    idle = [name for name in told if not any(path == name or path.startswith(f"{name}.") for path in read)]
    assert (silent, idle) == ([], [])
    assert set(MEANINGS) == {
        "virtualMachines",
        "virtualMachineScaleSets",
        "availabilitySets",
        "resourceGroups",
    }


def test_every_setting_has_its_row():
    assert [setting.name for setting in SETTINGS] == [each.name for each in fields(Settings)]


def test_the_page_of_metrics_names_what_a_service_really_exposes(service: RunningService):
    service.guest("solo").call(path="/nonsense")

    exposed = service.operator("GET", "/metrics").body.decode()

    page = PAGES["metrics"].read()
    heads = [line.split()[2:4] for line in exposed.splitlines() if line.startswith("# TYPE")]
    named = [line for line in page.splitlines() if line.startswith("| `")]
    assert [f"| `{name}` | {kind} |" for name, kind in heads] == [
        "|".join(line.split("|")[:3]) + "|" for line in named
    ]
    assert 'forewarn_refused_total{status="404"} 1.0' in exposed
