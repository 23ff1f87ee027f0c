"""The plugin in somebody else's project: found, quiet until it is used, side by side, under asyncio."""

from __future__ import annotations

import json
from importlib.metadata import entry_points

from tests.testing.project import Project

HEAVY = [
    "sqlalchemy",
    "starlette",
    "uvicorn",
    "structlog",
    "msgspec",
    "forewarn.service",
    "forewarn.testing.service",
]
PLAIN = "def test_it():\n    assert True\n"
REMEMBERS = """
import json, sys

def pytest_unconfigure(config):
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""


def test_an_installed_forewarn_is_found_by_pytest():
    found = entry_points(group="pytest11", name="forewarn")

    assert [each.value for each in found] == ["forewarn.testing.plugin"]


def loaded(project: Project) -> list[str]:
    """Which of the heavy modules a run has imported."""
    modules = set(json.loads((project.directory / "modules.json").read_text()))
    assert "forewarn.testing.plugin" in modules
    return [each for each in HEAVY if each in modules]


def test_a_project_that_does_not_use_it_imports_nothing_heavy(project: Project):
    project.write("test_it.py", PLAIN)
    project.write("remembers.py", REMEMBERS)

    run = project.run("-p", "remembers")

    assert run.status == 0, run.said
    assert loaded(project) == []


def test_collecting_alone_imports_nothing_heavy_either(project: Project):
    project.write("test_it.py", "def test_it(forewarn):\n    pass\n")
    project.write("remembers.py", REMEMBERS)

    run = project.run("--co", "-p", "remembers")

    assert "test_it.py::test_it" in run.said
    assert loaded(project) == []


def test_every_test_has_a_service_of_its_own_and_the_same_ids_in_every_run(project: Project):
    project.write(
        "test_it.py",
        """
import pytest

@pytest.mark.parametrize("turn", [1, 2])
def test_it(forewarn, turn):
    event = forewarn.restart(forewarn.vm("web_0"))
    with open("ids.txt", "a") as file:
        file.write(event.id + "\\n")
    event.expect("Scheduled")
""",
    )

    runs = [project.run(), project.run()]

    assert [run.status for run in runs] == [0, 0], runs[0].said
    first, second, *again = (project.directory / "ids.txt").read_text().split()
    assert first != second
    assert again == [first, second]


def test_a_service_may_be_shared_by_all_tests(project: Project):
    project.write(
        "test_it.py",
        """
import pytest

@pytest.fixture(scope="session")
def vm(forewarn_session):
    return forewarn_session.vm("web_0")

@pytest.mark.parametrize("turn", [1, 2])
def test_it(forewarn_session, vm, turn):
    event = forewarn_session.restart(vm)
    vm.approve(event)
    forewarn_session.clock.until(event, "Completed")
    assert len(forewarn_session.events) == turn
""",
    )

    run = project.run()

    assert run.status == 0, run.said


def test_a_test_may_ask_for_settings(project: Project):
    project.write(
        "test_it.py",
        """
import pytest
from datetime import timedelta

pytestmark = pytest.mark.forewarn(lead=10, simulated_seconds={"reboot": 1})

@pytest.mark.forewarn(lead=20)
def test_it(forewarn):
    event = forewarn.restart(forewarn.vm("web_0"))
    forewarn.clock.until(event, "Completed")
    assert event.ended_at - event.started_at == timedelta(seconds=21)
""",
    )

    run = project.run()

    assert run.status == 0, run.said


def test_a_setting_without_a_name_is_refused(project: Project):
    project.write(
        "test_it.py",
        """
import pytest

@pytest.mark.forewarn(5)
def test_it(forewarn):
    pass
""",
    )

    run = project.run()

    assert run.status == 1
    assert "The marker forewarn takes settings by their names; 5 has none." in run.said


def test_services_side_by_side_never_share_a_port(project: Project):
    project.write(
        "test_it.py",
        """
import asyncio, pytest

@pytest.mark.parametrize("turn", range(9))
def test_it(forewarn, turn):
    vms = [forewarn.vm(f"{turn}_{number}") for number in range(8)]
    for vm in vms:
        event = forewarn.restart(vm)
        assert [each["EventId"] for each in vm.events()] == [event.id]

def test_within_a_loop(forewarn):
    async def test():
        vm = forewarn.vm("web_0")
        event = forewarn.restart(vm)
        approving = asyncio.to_thread(vm.approve, event)
        await asyncio.gather(approving, asyncio.to_thread(event.expect_approved, by=vm, within_seconds=30))
        forewarn.clock.until(event, "Completed")
    asyncio.run(test())
""",
    )

    run = project.run("-n", "3")

    assert run.status == 0, run.said
    assert len(run.times) == 10


def test_a_test_that_fails_for_reasons_of_its_own_tells_of_all_events(project: Project):
    project.write(
        "test_it.py",
        """
def test_it(forewarn):
    vm = forewarn.vm("web_0")
    vm.approve(forewarn.restart(vm))
    assert vm.events() == []

def test_ours(forewarn):
    forewarn.restart(forewarn.vm("web_0")).expect("Started")
""",
    )

    run = project.run()

    assert run.status == 1
    assert "what happened in forewarn" in run.said
    assert run.said.count("restart web_0, asked for by test") == 2  # once each: our own failure tells it by itself
    assert "life.py" not in run.said.replace("life.Unmet", "")  # the failure is shown where the test is


def test_the_fixture_and_the_package_of_the_same_name_live_together(project: Project):
    project.write(
        "test_it.py",
        """
import forewarn as package
from forewarn.testing import Service

def test_it(forewarn):
    assert package.__version__
    assert isinstance(forewarn, Service)
    with Service() as another:
        assert another.url != forewarn.url
""",
    )

    run = project.run()

    assert run.status == 0, run.said


def test_nothing_is_printed_into_a_test_and_what_it_prints_is_its_own(project: Project):
    project.write(
        "test_it.py",
        """
def test_it(forewarn, capfd, caplog):
    vm = forewarn.vm("web_0")
    forewarn.clock.until(forewarn.restart(vm), "Completed")
    assert capfd.readouterr() == ("", "")
    assert caplog.messages == []
""",
    )

    run = project.run()

    assert run.status == 0, run.said


def test_a_refusal_is_shown_at_the_line_of_the_test_and_without_our_frames(project: Project):
    project.write(
        "test_it.py",
        """
def test_refused(forewarn):
    forewarn.restart("nobody")


def test_taken_port(forewarn):
    port = forewarn.vm("a").port
    forewarn.vm("b", port=port)


def test_answered_wrong(forewarn):
    vm = forewarn.vm("a")
    forewarn.fault("truncated")
    vm.document()
""",
    )

    run = project.run()
    full = project.run("--full-trace")

    assert run.said.count("forewarn.emulator.Refused") >= 3
    assert 'forewarn.restart("nobody")' in run.said
    assert "src/forewarn/" not in run.said
    assert "contextlib" not in run.said
    assert "src/forewarn/testing/service.py" in full.said
