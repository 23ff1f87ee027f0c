"""A long job that saves before its machine goes down, and goes on from there."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from tests.every_line import struck_at_every_line
from tests.running import wait_until
from tests.uses.machine import a_machine, end_of, is_running
from tests.uses.page import block, filled, put

TITLE = "Checkpoint and restore"


class Job:
    """The job of the page, in a folder of its own."""

    def __init__(self, place: Path) -> None:
        self.pid_file, self.saved, self.done = (place / name for name in ("job.pid", "saved.json", "done.log"))
        program = block(TITLE, "python", "/opt/job/job.py")
        program = filled(program, {"/var/lib/job/saved.json": self.saved, "/var/lib/job/done.log": self.done})
        script = block(TITLE, "sh", "/usr/local/bin/start-job")
        self.program = put(place / "job.py", program)
        places = {
            "python3 /opt/job/job.py": f"{sys.executable} {self.program}",
            "/var/log/job.log": place / "job.log",
            "/run/job.pid": self.pid_file,
        }
        self.start = put(place / "start-job", filled(script, places))

    @property
    def config(self) -> str:
        places = {"/run/job.pid": self.pid_file, "/usr/local/bin/start-job": self.start}
        return filled(block(TITLE, "toml"), places)

    @property
    def pid(self) -> int:
        return int(self.pid_file.read_text())

    @property
    def pieces(self) -> list[int]:
        """What it has done, piece by piece."""
        return [int(line) for line in self.done.read_text().splitlines()] if self.done.exists() else []

    def wait_for_pieces(self, count: int) -> None:
        wanted = len(self.pieces) + count
        wait_until(lambda: len(self.pieces) >= wanted, f"{count} more pieces of work")


def test_a_job_saves_before_the_event_and_goes_on_after_it_from_where_it_was(tmp_path: Path):
    job = Job(tmp_path)
    with a_machine(tmp_path, job.config) as machine:
        try:
            machine.start(job.start).wait(60)
            first = job.pid
            event = machine.announce()
            machine.wait_for(event, "detected")
            job.wait_for_pieces(5)
            assert is_running(first), "it works on until two minutes before the event"
            machine.service.advance(minutes=13)
            machine.wait_for_approval(event)
            saved = json.loads(job.saved.read_text())["piece"]
            assert not is_running(first)
            machine.crash()
            machine.boot()
            assert len(job.pieces) == saved, "it is not started before the event is over"
            machine.finish(event)
            job.wait_for_pieces(5)
            second = job.pid
            undone = machine.step(event, "save", "undo")
        finally:
            end_of(job.pid_file)

    assert first != second
    assert saved >= 5
    assert job.pieces == list(range(1, len(job.pieces) + 1)), "nothing is left out, and nothing done twice"
    assert (undone["outcome"], undone["tries"]) == ("done", 1)


def test_the_job_saves_at_whatever_line_it_is_told_to(tmp_path: Path):
    job = Job(tmp_path)

    ends = struck_at_every_line(job.program, signal.SIGTERM, 30)

    assert set(ends) == {0}, ends
    assert job.pieces, "it has worked"
    assert job.pieces == list(range(1, len(job.pieces) + 1)), "nothing is left out, and nothing done twice"
    assert json.loads(job.saved.read_text()) == {"piece": len(job.pieces)}


def test_without_the_agent_work_is_done_twice(tmp_path: Path):
    job = Job(tmp_path)
    with a_machine(tmp_path, "") as machine:
        try:
            machine.start(job.start).wait(60)
            job.wait_for_pieces(5)
            event = machine.announce()
            machine.service.advance(minutes=15)
            assert machine.has_started(event)
            end_of(job.pid_file)
            machine.crash()
            machine.boot()
            machine.finish(event)
            lost = len(job.pieces)
            machine.start(job.start).wait(60)
            job.wait_for_pieces(5)
        finally:
            end_of(job.pid_file)

    assert job.pieces[lost] == 1
