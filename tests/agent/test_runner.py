"""Threads that run handlers, and what is told of them."""

from __future__ import annotations

import os
import queue
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from forewarn.agent.case import Outcome
from forewarn.agent.clock import Clock
from forewarn.agent.effects import own_memory
from forewarn.agent.handlers import records
from forewarn.agent.handlers.base import Result
from forewarn.agent.runner import MOST_AT_ONCE, Ended, Runner, Settled
from tests.agent.kept import BAD, OK, Gate, Stage
from tests.agent.little_world import BEGUN, DO, DONE, FAILED, NOW, UNDO, a_case, a_run, a_step, an_event


class Track:
    """A runner, and what it told."""

    def __init__(self, place: Path, stage: Stage, **settings) -> None:
        self.steady = 1000.0
        self.told: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        clock = Clock(lambda: NOW, lambda: self.steady)
        self.runner = Runner(self.told.put, stage.find, place, clock, **settings)

    def next(self) -> Ended:
        return self.told.get(timeout=60)


def test_a_handler_gets_the_event_its_time_and_places_of_its_own(tmp_path: Path):
    stage = Stage()
    track = Track(tmp_path, stage)

    track.runner.begin(a_case(), a_step(), DO, 42, 2)
    ended = track.next()

    [task] = stage.tasks
    assert ended.result == OK
    assert (task.event.id, task.step, task.seconds, task.try_number, task.vm) == ("E1", "drain", 42, 2, "web-0")
    assert task.seconds_to_not_before == 900
    assert task.scratch == tmp_path / "runs" / "E1" / "drain.do.2"
    assert task.scratch.is_dir()
    assert task.memory.is_dir()


def test_an_attempt_finds_the_memory_that_is_noted_with_it(tmp_path: Path):
    stage = Stage()
    track = Track(tmp_path, stage)
    edited = a_step(options={"command": ["drain", "--soft"]})
    noted = a_run(BEGUN, memory=own_memory(a_step()))

    track.runner.begin(a_case(), a_step(), DO, 1, 1)
    track.runner.begin(a_case(an_event("E2"), runs={("drain", UNDO): noted}), edited, UNDO, 1, 1)
    track.runner.begin(a_case(an_event("E3")), edited, DO, 1, 1)
    for _ in range(3):
        track.next()

    memory = {task.event.id: task.memory for task in stage.tasks}
    assert memory["E1"] == memory["E2"]
    assert memory["E1"] != memory["E3"]


@pytest.mark.parametrize("outcome", [DONE, FAILED])
def test_an_undo_is_told_whether_the_step_had_succeeded(tmp_path: Path, outcome: Outcome):
    stage = Stage()
    track = Track(tmp_path, stage)

    track.runner.begin(a_case(runs={("drain", DO): a_run(outcome)}), a_step(), UNDO, 1, 1)
    track.next()

    assert stage.tasks[0].was_done is (outcome is DONE)


def test_a_handler_that_gives_its_program_time_to_end_is_given_that_too(tmp_path: Path):
    gate = Gate()
    track = Track(tmp_path, Stage({"drain do": lambda task: (gate.is_open.wait(60), OK)[1]}))
    track.runner.begin(a_case(), a_step(options={"grace_seconds": 60}), DO, 10, 1)

    track.steady += 10 + 60 + 29
    early = track.runner.overdue()
    track.steady += 2
    late = track.runner.overdue()
    gate.is_open.set()

    assert early == []
    assert len(late) == 1


def test_a_handler_that_does_not_come_back_is_given_up_and_its_late_word_does_not_count(tmp_path: Path):
    gate = Gate()
    track = Track(tmp_path, Stage({"drain do": lambda task: (gate.is_open.wait(60), OK)[1]}))
    track.runner.begin(a_case(), a_step(), DO, 10, 1)

    track.steady += 10 + 29
    early = track.runner.overdue()
    track.steady += 2
    [late] = track.runner.overdue()
    is_news = track.runner.settle(late) is not None
    gate.is_open.set()
    afterwards = track.runner.settle(track.next())

    assert early == []
    assert late.result == Result(is_done=False, note="it did not come back in time", is_uncertain=True)
    assert is_news
    assert afterwards is None


def test_what_a_handler_says_is_one_line_of_bounded_length(tmp_path: Path):
    track = Track(tmp_path, Stage({"drain do": lambda _: Result(is_done=False, note="a\n b\t c" + "x" * 1000)}))

    track.runner.begin(a_case(), a_step(), DO, 1, 1)
    note = track.next().result.note

    assert note.startswith("a b cxxx")
    assert len(note) == 500


def test_what_a_handler_says_is_told_without_secrets(tmp_path: Path):
    stage = Stage({"drain do": lambda _: Result(is_done=False, note="wrong password: hunter22")})
    track = Track(tmp_path, stage, conceal=lambda text: text.replace("hunter22", "[secret]"))

    track.runner.begin(a_case(), a_step(), DO, 1, 1)

    assert track.next().result.note == "wrong password: [secret]"


def test_a_place_that_cannot_be_made_is_a_failure_not_a_crash(tmp_path: Path):
    (tmp_path / "runs").touch()
    stage = Stage()
    track = Track(tmp_path, stage)

    track.runner.begin(a_case(), a_step(), DO, 1, 1)
    result = track.next().result

    assert not result.is_done
    assert stage.ran() == []


def test_a_kind_that_is_not_there_is_a_failure_not_a_crash(tmp_path: Path):
    def find(kind: str):
        raise LookupError(f"There is no handler {kind!r}.")

    stage = Stage()
    stage.find = find
    track = Track(tmp_path, stage)

    track.runner.begin(a_case(), a_step(), DO, 1, 1)

    assert "There is no handler 'command'." in track.next().result.note


@pytest.mark.parametrize(("kind", "is_told"), [("command", False), ("http", True)])
def test_when_the_agent_ends_only_what_cannot_go_on_alone_is_told_to_stop(
    tmp_path: Path, kind: str, *, is_told: bool
):
    gate = Gate()
    stage = Stage({"drain do": gate})
    track = Track(tmp_path, stage)
    track.runner.begin(a_case(), a_step(uses=kind), DO, 10, 1)

    track.runner.leave()
    gate.is_open.set()
    ended = track.next()

    assert stage.tasks[0].stop.is_set() is is_told
    assert track.runner.settle(ended) == Settled(is_given_up=is_told, why_stopped="")


def test_there_is_a_limit_to_how_much_runs_at_once(tmp_path: Path):
    gate = Gate(BAD)
    track = Track(tmp_path, Stage(dict.fromkeys((f"s{n} do" for n in range(MOST_AT_ONCE)), gate)))
    for number in range(MOST_AT_ONCE):
        assert track.runner.has_room
        track.runner.begin(a_case(), a_step(f"s{number}"), DO, 10, 1)

    assert not track.runner.has_room
    gate.is_open.set()
    for _ in range(MOST_AT_ONCE):
        track.runner.settle(track.next())
    assert track.runner.has_room


def test_what_is_left_of_events_that_are_over_is_taken_away(tmp_path: Path):
    track = Track(tmp_path, Stage())
    for event in ("E1", "E2"):
        track.runner.begin(a_case(an_event(event)), a_step(), DO, 1, 1)
        track.next()

    track.runner.forget_all_but(["E2"])
    left = sorted(each.name for each in (tmp_path / "runs").iterdir())
    memory = list((tmp_path / "memory").iterdir())
    track.runner.forget_all_but([])

    assert left == ["E2"]
    assert memory
    assert list((tmp_path / "memory").iterdir()) == []
    assert list((tmp_path / "runs").iterdir()) == []


def test_an_undo_is_told_of_the_event_as_it_was_when_the_step_was_done(tmp_path: Path):
    stage = Stage()
    track = Track(tmp_path, stage)
    done = {("drain", DO): a_run(of_type="Freeze")}
    case = a_case(an_event(type="Redeploy"), runs=done)

    track.runner.begin(case, a_step(), UNDO, 1, 1)
    track.next()
    track.runner.begin(case, a_step(), DO, 1, 1)
    track.next()

    assert [task.event.type for task in stage.tasks] == ["Freeze", "Redeploy"]


def test_how_things_were_is_remembered_until_it_is_undone_or_long_past(tmp_path: Path):
    track = Track(tmp_path, Stage())
    kept = {name: tmp_path / "memory" / name / "before.json" for name in ("undone", "not undone", "given up")}
    records.keep(kept["undone"], {"is_undone": True})
    for name in ("not undone", "given up"):
        records.keep(kept[name], {"was": {"unit": "nginx.service"}})
    long_ago = (NOW - timedelta(days=31)).timestamp()
    for name in ("undone", "not undone"):
        os.utime(kept[name], (NOW.timestamp(), NOW.timestamp()))
    os.utime(kept["given up"], (long_ago, long_ago))

    track.runner.forget_all_but([])

    assert [each.name for each in (tmp_path / "memory").iterdir()] == ["not undone"]


def test_a_dry_run_starts_no_thread(tmp_path: Path):
    stage = Stage()
    track = Track(tmp_path, stage, is_dry_run=True)
    before = threading.active_count()

    track.runner.begin(a_case(), a_step(), DO, 1, 1)

    assert track.next().result == Result(is_done=True, note="dry run: it was not done")
    assert threading.active_count() == before
    assert stage.ran() == []
    assert list(tmp_path.iterdir()) == []
