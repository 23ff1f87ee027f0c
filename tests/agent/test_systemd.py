"""The systemd handler, with a program in systemctl's place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forewarn.agent.case import Direction
from forewarn.agent.handlers import find
from forewarn.agent.handlers.records import keep
from tests.agent.tasks import EVENT, attempt

SYSTEMD = find("systemd")


def do(units: Path, unit: str = "web.service", direction: Direction = Direction.DO, **more):
    seconds = more.pop("seconds", 20)
    event = more.pop("event", EVENT)
    options = {"unit": unit, "systemctl": str(units.parent / "systemctl"), **more}
    return SYSTEMD.run(attempt(units.parent, options, direction=direction, seconds=seconds, event=event))


def asked(units: Path) -> list[str]:
    lines = (units.parent / "asked").read_text().splitlines()
    return [line for line in lines if not line.startswith("show")]


def test_a_unit_that_ran_is_stopped_and_started_again(units):
    (units / "web.service").write_text("active\n")

    stopped = do(units)
    state = (units / "web.service").read_text()
    started = do(units, direction=Direction.UNDO)

    assert (stopped.is_done, stopped.note, state) == (True, "stop of web.service: it is inactive", "inactive\n")
    assert (started.is_done, started.note) == (True, "start of web.service: it is active")


def test_a_unit_that_did_not_run_is_not_started_by_the_undo(units):
    (units / "web.service").write_text("inactive\n")

    do(units)
    undone = do(units, direction=Direction.UNDO)

    assert (undone.is_done, undone.note) == (True, "web.service was inactive before, and stays as it is")
    assert (units / "web.service").read_text() == "inactive\n"


def test_a_second_try_does_not_forget_that_the_unit_ran(units):
    (units / "web.service").write_text("active\n")

    do(units)
    do(units)
    undone = do(units, direction=Direction.UNDO)

    assert (undone.is_done, (units / "web.service").read_text()) == (True, "active\n")


def test_once_it_is_undone_the_next_event_looks_anew(units):
    (units / "web.service").write_text("active\n")
    do(units)
    do(units, direction=Direction.UNDO)
    (units / "web.service").write_text("inactive\n")
    later = replace(EVENT, id="LATER")

    do(units, event=later)
    do(units, direction=Direction.UNDO, event=later)

    assert (units / "web.service").read_text() == "inactive\n"


def test_an_event_that_finds_the_unit_stopped_by_another_does_not_forget_that_it_ran(units):
    (units / "web.service").write_text("active\n")
    do(units)
    later = replace(EVENT, id="LATER")

    do(units, event=later)
    do(units, direction=Direction.UNDO, event=later)

    assert (units / "web.service").read_text() == "active\n"


def test_the_unit_that_was_stopped_is_started_whatever_the_file_names_by_now(units):
    (units / "web.service").write_text("active\n")
    (units / "other.service").write_text("inactive\n")
    do(units)

    do(units, "other.service", direction=Direction.UNDO)

    assert (units / "web.service").read_text() == "active\n"
    assert (units / "other.service").read_text() == "inactive\n"


@pytest.mark.parametrize("was_done", [True, False])
def test_an_undo_without_a_record_has_failed_if_the_unit_was_stopped(units, *, was_done: bool):
    options = {"unit": "web.service", "systemctl": str(units.parent / "systemctl")}
    task = replace(attempt(units.parent, options, direction=Direction.UNDO), was_done=was_done)

    result = SYSTEMD.run(task)

    assert result.is_done is not was_done
    assert ("see to it by hand" in result.note) is was_done


def test_an_undo_without_a_stop_touches_nothing(units):
    (units / "web.service").write_text("inactive\n")

    undone = do(units, direction=Direction.UNDO)

    assert (undone.is_done, undone.note) == (True, "web.service was not touched")


def test_a_unit_that_was_started_is_stopped_by_the_undo_only_if_it_did_not_run(units):
    (units / "spare.service").write_text("inactive\n")
    do(units, "spare.service", action="start")
    do(units, "spare.service", Direction.UNDO, action="start")
    assert (units / "spare.service").read_text() == "inactive\n"

    (units / "other.service").write_text("active\n")
    do(units, "other.service", action="start")
    do(units, "other.service", Direction.UNDO, action="start")
    assert asked(units) == ["start spare.service", "stop spare.service", "start other.service"]


def test_a_unit_that_does_not_exist_is_a_failure(units):
    result = do(units, "no.service")

    assert (result.is_done, result.note) == (
        False,
        "stop of no.service failed with status 5: Unit no.service not loaded.",
    )


def test_a_unit_that_fails_to_start_is_a_failure(units):
    (units / "broken.service").write_text("inactive\n")

    result = do(units, "broken.service", action="start")

    assert (result.is_done, result.note) == (False, "start of broken.service: it is failed")


def test_a_unit_that_does_not_stop_in_time_is_a_failure_in_time(units):
    (units / "stuck.service").write_text("active\n")

    result = do(units, "stuck.service", seconds=3)

    assert (result.is_done, result.note) == (False, "stop of stuck.service: its time of 3 s was up")


def test_a_machine_without_systemctl_is_a_failure(units):
    result = do(units, systemctl=str(units / "none"))

    assert not result.is_done
    assert "FileNotFoundError" in result.note


def test_a_systemctl_that_cannot_tell_stops_nothing(units):
    (units.parent / "systemctl").write_text("#!/bin/sh\necho no bus >&2\nexit 1\n")

    result = do(units)

    assert not result.is_done
    assert "does not tell how web.service is: no bus" in result.note


def test_a_restart_over_which_an_agent_died_is_not_known_and_a_stop_may_be_asked_for_again(tmp_path):
    task = attempt(tmp_path, {"unit": "web.service", "action": "restart"})
    assert SYSTEMD.take_over(task) is None
    keep(task.scratch / "begun.json", {})

    unknown = SYSTEMD.take_over(task)

    assert unknown is not None
    assert "whether restart was done is not known" in unknown.note
    assert SYSTEMD.take_over(replace(task, options={"unit": "web.service"})) is None


def test_what_can_be_undone_is_told():
    assert SYSTEMD.undoes({"unit": "x"})
    assert not SYSTEMD.undoes({"unit": "x", "undo": False})
    assert not SYSTEMD.undoes({"unit": "x", "action": "restart"})


def test_options_that_cannot_work_are_refused():
    assert SYSTEMD.check({"unit": "nginx.service"}) == []
    assert "action is 'halt'" in SYSTEMD.check({"unit": "x", "action": "halt"})[0]
    assert "which is no name of a unit" in SYSTEMD.check({"unit": "--now"})[0]
