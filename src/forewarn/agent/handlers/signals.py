"""Send a signal to a process."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.command import command_problems, program_for
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.direct import run_directly
from forewarn.agent.handlers.proc import Process, is_alive, named, process, send_signal
from forewarn.agent.handlers.processes import run_minded, take_over_minded
from forewarn.agent.handlers.records import keep, recall, settled, settled_result

_LOOK_SECONDS = 0.05
_TARGETS = ("pid_file", "process", "unit")


class Signal:
    """Signals processes, and waits for their end where that is asked."""

    help = "Sends a signal to a process, found by its pid file, its name or its systemd unit."
    is_for_all_events = True
    options = (
        Option("pid_file", "path", "The file with its process id."),
        Option("process", "text", "The name of the program; every process with it gets the signal."),
        Option("unit", "text", "The systemd unit whose main process gets the signal."),
        Option("signal", "text", "The signal.", default="SIGTERM"),
        Option(
            "wait_for_exit_seconds",
            "seconds",
            "How long to wait for its end; if it lives on, the step has failed. 0: not at all.",
            default=0,
        ),
        Option("may_be_missing", "flag", "Whether it is fine if there is no such process.", default=False),
        Option("undo_signal", "text", "The signal that undoes it."),
        Option("undo", "command", "Or the program that undoes it, with its arguments."),
        Option("systemctl", "path", "The program that is asked for a unit's main process.", default="systemctl"),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        problems = []
        if sum(bool(said[name]) for name in _TARGETS) != 1:
            problems.append("Say who gets the signal, by one of pid_file, process and unit.")
        problems += [
            f"{name} is {said[name]!r}, which is no signal here. Write it like SIGTERM."
            for name in ("signal", "undo_signal")
            if said[name] and _number(said[name]) is None
        ]
        if said["undo"] is not None:
            problems += command_problems("undo", said["undo"], is_shell=False)
            if said["undo_signal"]:
                problems.append("undo and undo_signal both say how it is undone. Take one of them out.")
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """Whether it has a signal or a command for the undo."""
        return bool(options.get("undo_signal") or options.get("undo"))

    def run(self, task: Task) -> Result:
        """Send the signal, or undo it."""
        said = with_defaults(self.options, task.options)
        if task.direction is Direction.DO:
            return settled(task, lambda: _send(said, said["signal"], task))
        if said["undo"]:
            return settled(task, lambda: run_minded(program_for(said["undo"], {}, task), task))
        if said["undo_signal"]:
            gentle = said | {"may_be_missing": True, "wait_for_exit_seconds": 0}
            return settled(task, lambda: _send(gentle, said["undo_signal"], task))
        return Result(is_done=True, note="it has no undo")

    def take_over(self, task: Task) -> Result | None:
        """What came of it: a signal that was sent is not sent again, but the end of its process is waited for."""
        if result := settled_result(task):
            return result
        said = with_defaults(self.options, task.options)
        if task.direction is Direction.UNDO and said["undo"]:
            return take_over_minded(task)
        record = recall(task.scratch / "sent.json")
        if record is None:
            return None
        targets = [Process(int(pid), int(started)) for pid, started in record.get("targets", [])]
        alive = [each for each in targets if is_alive(each)]
        if not record.get("is_sent") and alive:
            note = "the agent ended over it; whether the signal was sent is not known"
            return Result(is_done=False, note=note, is_uncertain=True)
        if task.direction is Direction.DO and said["wait_for_exit_seconds"]:
            return _wait_for_exit(targets, float(said["wait_for_exit_seconds"]), task)
        return Result(is_done=True, note="the signal was sent")


def _send(said: Mapping[str, Any], name: str, task: Task) -> Result:
    number = _number(name)
    if number is None:
        return Result(is_done=False, note=f"there is no signal {name!r} here")
    targets, missing = _targets(said, Deadline(task.seconds, task.stop))
    if not targets:
        return Result(bool(said["may_be_missing"]), missing)
    record = {"targets": [(each.pid, each.started) for each in targets]}
    keep(task.scratch / "sent.json", record | {"is_sent": False})
    for each in targets:
        with suppress(ProcessLookupError):  # it has just ended
            send_signal(each, number)
    with suppress(OSError):  # it is sent, whether the disk takes that or not
        keep(task.scratch / "sent.json", record | {"is_sent": True}, is_lasting=False)
    if said["wait_for_exit_seconds"]:
        return _wait_for_exit(targets, float(said["wait_for_exit_seconds"]), task)
    return Result(is_done=True, note=f"{name} sent to {_numbers(targets)}")


def _targets(said: Mapping[str, Any], deadline: Deadline) -> tuple[list[Process], str]:
    """Whom it goes to, or why there is nobody."""
    if said["process"]:
        return named(said["process"]), f"no process is named {said['process']}"
    if said["pid_file"]:
        pid, where = _pid_in(Path(said["pid_file"])), f"{said['pid_file']} names no process that runs"
    else:
        asked = [str(said["systemctl"]), "show", "--property=MainPID", "--value", said["unit"]]
        answer = run_directly(asked, deadline).text
        pid, where = int(answer) if answer.isdigit() else 0, f"{said['unit']} has no main process"
    found = process(pid) if pid > 1 else None  # 0 is ourselves, and 1 is everybody's
    return ([found] if found else []), where


def _pid_in(path: Path) -> int:
    try:
        words = path.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return 0
    return int(words[0]) if words and words[0].isdigit() and len(words[0]) < 10 else 0  # noqa: PLR2004 - as the kernel's


def _wait_for_exit(targets: list[Process], seconds: float, task: Task) -> Result:
    deadline = Deadline(min(seconds, task.seconds), task.stop)
    while alive := [each for each in targets if is_alive(each)]:
        if not deadline.pause(_LOOK_SECONDS):
            return Result(is_done=False, note=f"{_numbers(alive)} did not end: {deadline.why()}")
    return Result(is_done=True, note=f"{_numbers(targets)} ended after {deadline.passed:.1f} s")


def _numbers(targets: list[Process]) -> str:
    return f"process {', '.join(str(each.pid) for each in targets)}"


def _number(name: object) -> int | None:
    """The number of a signal on this machine: SIGTERM, TERM, sigterm."""
    wanted = str(name).upper()
    found = getattr(signal.Signals, wanted if wanted.startswith("SIG") else f"SIG{wanted}", None)
    return int(found) if found is not None else None


HANDLER = Signal()
