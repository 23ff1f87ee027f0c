from __future__ import annotations

import os
import signal
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from forewarn.agent.case import Direction, Outcome
from forewarn.agent.clock import Clock
from forewarn.agent.events import Event
from forewarn.agent.policy import Approval, Occasion, OnFailure, Profile, Step
from forewarn.agent.trial import Trial
from tests.agent.kinds import KINDS
from tests.agent.running_command import AGENT, bare
from tests.agent.shell import until_there
from tests.every_line import struck_at_every_line
from tests.waiting import as_typed, wait_until


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def try_out(notes: Path, *steps: Step, **values: object) -> tuple[Trial, bool]:
    clock = Clock()
    event = Event("invented", "Reboot", resources=("web-1",), not_before=clock.now() + timedelta(minutes=15))
    profile = Profile("drain", steps, lead_seconds=1, approval=Approval.AFTER_SUCCESS)
    scratch = notes.parent / "scratch"
    trial = Trial(profile, event, "web-1", clock=clock, find=KINDS.find, scratch=scratch, tell=lambda _: None)
    return trial, trial.run(**values)  # type: ignore[arg-type]


def step(name: str, notes: Path, uses: str = "note", **values: object) -> Step:
    options = {"file": str(notes), **values.pop("options", {})}  # type: ignore[dict-item]
    return Step(name, uses, options, has_undo=True, **values)  # type: ignore[arg-type]


def test_a_step_named_like_a_path_leads_nowhere_else(notes: Path):
    elsewhere = notes.parent / "elsewhere"

    _, is_fine = try_out(notes, step(str(elsewhere), notes), step("../up", notes, group=2))

    assert is_fine
    assert not elsewhere.exists()
    assert sorted(each.name for each in notes.parent.iterdir()) == ["notes", "scratch"]


def test_the_steps_run_in_order_and_are_undone_the_last_first_and_nothing_is_approved(notes: Path):
    steps = (
        step("tell", notes, on=Occasion.DETECTED),
        step("one", notes, group=2, needs=()),
        step("two", notes, group=3),
        step("begun", notes, on=Occasion.STARTED, group=4),
        step("over", notes, on=Occasion.FINISHED),
        step("never", notes, on=Occasion.CANCELLED),
    )

    _, is_fine = try_out(notes, *steps)

    lines = notes.read_text(encoding="utf-8").splitlines()
    assert is_fine
    lines.remove("do tell Scheduled")  # for which nothing else waits
    assert lines == [
        "do one Scheduled",
        "do two Scheduled",
        "do begun Started",
        "undo two Started",
        "undo one Started",
        "do over Started",
    ]


def test_an_event_that_is_cancelled_is_not_started(notes: Path):
    steps = (
        step("one", notes),
        step("begun", notes, on=Occasion.STARTED),
        step("gone", notes, on=Occasion.CANCELLED),
    )

    _, is_fine = try_out(notes, *steps, is_cancelled=True)

    assert is_fine
    assert notes.read_text(encoding="utf-8").splitlines() == [
        "do one Scheduled",
        "undo one Scheduled",
        "do gone Scheduled",
    ]


def test_a_failed_step_holds_the_rest_and_what_was_begun_is_undone(notes: Path):
    trial, is_fine = try_out(notes, step("one", notes, options={"fails": 9}), step("two", notes, group=2))

    assert not is_fine
    assert [(each.step, each.direction, each.outcome) for each in trial.tried] == [
        ("one", Direction.DO, Outcome.FAILED),
        ("one", Direction.UNDO, Outcome.DONE),
    ]


def test_a_step_that_succeeds_at_its_second_try_is_fine(notes: Path):
    flaky = step("one", notes, options={"fails": 1}, retries=1, retry_pause_seconds=0.01)

    trial, is_fine = try_out(notes, flaky)

    assert is_fine
    assert [each.outcome for each in trial.tried] == [Outcome.FAILED, Outcome.DONE, Outcome.DONE]


def test_a_handler_with_a_bug_is_a_failed_step(notes: Path):
    broken = step("one", notes, uses="broken", on_failure=OnFailure.CONTINUE)

    trial, is_fine = try_out(notes, broken, step("two", notes, group=2))

    assert not is_fine
    assert trial.tried[0].note == "ZeroDivisionError: a bug"
    assert "do two Scheduled" in notes.read_text(encoding="utf-8")


# Signals


def trying_out(tmp_path: Path, stdout: int = subprocess.PIPE, **values: str) -> subprocess.Popen[str]:
    """The command, with a step that is done and one that hangs by now."""
    texts = {"on": "prepare", "undo": f'["touch", "{tmp_path}/undone"]', **values}
    file = tmp_path / "agent.toml"
    file.write_text(
        f"""
        [profiles.drain]
        [[profiles.drain.steps]]
        name = "one"
        uses = "command"
        command = ["touch", "{tmp_path}/done"]
        undo = {texts["undo"]}
        [[profiles.drain.steps]]
        name = "two"
        uses = "command"
        on = "{texts["on"]}"
        group = 2
        shell = true
        command = "touch {tmp_path}/hangs; sleep 300"
        """
    )
    command = as_typed(*AGENT, "test", "--config", str(file), "drain")
    running = subprocess.Popen(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, env=bare(TMPDIR=str(tmp_path))
    )
    wait_until((tmp_path / "hangs").exists, "the second step to hang")
    return running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("occasion", [Occasion.PREPARE, Occasion.STARTED])
def test_a_signal_gives_up_what_runs_and_undoes_what_was_done(
    tmp_path: Path, occasion: Occasion, number: signal.Signals
):
    with trying_out(tmp_path, on=occasion) as running:
        running.send_signal(number)
        out, err = running.communicate(timeout=60)

    assert running.returncode == 128 + number
    assert (tmp_path / "undone").exists()
    assert "undo of one: done" in out
    assert "was interrupted" in out
    assert "given up and undone" in err
    assert not list(tmp_path.glob("forewarn-agent-test-*"))


TRIES = """
import pathlib, signal, tempfile
from forewarn.agent.clock import Clock
from forewarn.agent.events import Event
from forewarn.agent.policy import Profile, Step
from forewarn.agent.trial import Trial
from tests.agent.kinds import KINDS

with tempfile.TemporaryDirectory(dir=pathlib.Path(__file__).parent) as place:
    options = {"file": f"{place}/notes", "fails": 1}
    flaky = Step("one", "note", options, has_undo=True, retries=1, retry_pause_seconds=0.05)
    event = Event("invented", "Reboot", resources=("web-1",))
    scratch = pathlib.Path(place, "scratch")
    heed = lambda _: signal.signal(signal.SIGTERM, lambda *_: trial.break_off())
    trial = Trial(
        Profile("drain", (flaky,)), event, "web-1", clock=Clock(), find=KINDS.find, scratch=scratch, tell=heed
    )
    trial.run()
    assert pathlib.Path(options["file"]).read_text().splitlines()[-1].startswith("undo one")
"""


def test_a_trial_that_waits_to_try_again_is_broken_off_and_undone_at_whatever_line_that_comes(tmp_path: Path):
    program = tmp_path / "tries.py"
    program.write_text(TRIES)

    ends = struck_at_every_line(program, signal.SIGTERM, 20)

    assert set(ends) == {0}, ends


def test_a_terminal_that_goes_away_does_not_keep_anything_from_being_undone(tmp_path: Path):
    ours, terminal = os.openpty()
    with trying_out(tmp_path, stdout=terminal) as running:
        os.close(terminal)
        os.close(ours)
        running.send_signal(signal.SIGHUP)
        running.communicate(timeout=60)

    assert (tmp_path / "undone").exists()
    assert running.returncode == 128 + signal.SIGHUP


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 128 + signal.SIGTERM), (signal.SIGINT, 130)])
def test_in_the_middle_of_the_undo_ctrl_c_ends_it_and_nothing_else(
    tmp_path: Path, number: signal.Signals, code: int
):
    undo = f"touch {tmp_path}/undoing; {until_there(tmp_path / 'let go')}; touch {tmp_path}/undone"
    with trying_out(tmp_path, undo=f"""["/bin/sh", "-c", "{undo}"]""") as running:
        running.send_signal(signal.SIGTERM)
        wait_until((tmp_path / "undoing").exists, "the undo to begin")
        running.send_signal(number)
        if number == signal.SIGINT:
            running.wait(60)
        (tmp_path / "let go").touch()
        _, err = running.communicate(timeout=60)

    assert running.returncode == code
    assert ("Ended in the middle of the undo." in err) is (number == signal.SIGINT)
    assert (tmp_path / "undone").exists() or number == signal.SIGINT


def test_a_trial_looks_at_its_own_clock_only(notes: Path):
    at = datetime(2031, 1, 1, tzinfo=timezone.utc)
    clock = Clock(wall=lambda: at)
    event = Event("invented", "Reboot", resources=("web-1",), not_before=at + timedelta(minutes=15))
    seen = []
    trial = Trial(
        Profile("drain", (step("one", notes),)),
        event,
        "web-1",
        clock=clock,
        find=KINDS.find,
        scratch=notes.parent / "scratch",
        tell=seen.append,
    )

    assert trial.run()
    assert [each.seconds for each in seen] == [0, 0]
