"""Stop and start a systemd unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.direct import Exit, run_directly
from forewarn.agent.handlers.output import as_one_line
from forewarn.agent.handlers.records import Before, settled, settled_result, was_begun

_REVERSE = {"stop": "start", "start": "stop"}
_ACTIONS = ("stop", "start", "restart", "reload")
_RUNNING = {"active", "reloading", "activating"}
_LOOK_SECONDS = 0.2


class Systemd:
    """Stops, starts, restarts or reloads a unit."""

    help = "Stops, starts, restarts or reloads a systemd unit. What it stopped is started again, and the reverse."
    is_for_all_events = True
    options = (
        Option("unit", "text", "The unit, such as `nginx.service`.", is_required=True),
        Option("action", "text", "`stop`, `start`, `restart` or `reload`.", default="stop"),
        Option(
            "undo",
            "flag",
            "Whether it is undone: a unit that ran before is started again, one that did not is stopped.",
            default=True,
        ),
        Option("systemctl", "path", "The program to ask.", default="systemctl"),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        problems = []
        if said["action"] not in _ACTIONS:
            problems.append(f"action is {said['action']!r}. There are: {', '.join(_ACTIONS)}.")
        unit = said["unit"] or ""
        if not unit or unit.startswith("-") or any(letter.isspace() for letter in unit):
            problems.append(f"unit is {unit!r}, which is no name of a unit. Write it like nginx.service.")
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """A stop and a start can be undone."""
        said = with_defaults(self.options, options)
        return bool(said["undo"]) and said["action"] in _REVERSE

    def run(self, task: Task) -> Result:
        """Do it; or the reverse, if the unit was the other way before."""
        unit = _Unit(with_defaults(self.options, task.options), task)
        return settled(task, unit.act if task.direction is Direction.DO else unit.undo)

    def take_over(self, task: Task) -> Result | None:
        """A stop or a start may be asked for again; whether a restart or reload was carried out is not known."""
        said = with_defaults(self.options, task.options)
        if result := settled_result(task):
            return result
        if said["action"] in _REVERSE or not was_begun(task):
            return None
        return Result(
            is_done=False, note=f"the agent ended over it; whether {said['action']} was done is not known"
        )


class _Unit:
    """A unit, for one attempt."""

    def __init__(self, said: Mapping[str, Any], task: Task) -> None:
        self._name, self._action = said["unit"], said["action"]
        self._program = str(said["systemctl"])
        self._deadline = Deadline(task.seconds, task.stop)
        self._before = Before(task)

    def act(self) -> Result:
        if self._action in _REVERSE:
            self._before.keep({"unit": self._name, "action": self._action, "state": self._state()})
        return self._do(self._action)

    def undo(self) -> Result:
        was = self._before.recall()
        if was is None:
            return self._before.nothing_to_undo(f"{self._name} was not touched")
        # What was done: the file may name another by now.
        self._name, self._action = was.get("unit", self._name), was.get("action", self._action)
        is_to_run = was.get("state") in _RUNNING
        if is_to_run == (self._action == "start"):
            self._before.forget()
            return Result(is_done=True, note=f"{self._name} was {was.get('state')} before, and stays as it is")
        result = self._do(_REVERSE[self._action])
        if result.is_done:
            self._before.forget()
        return result

    def _do(self, action: str) -> Result:
        ended = self._ask(action, self._name)
        if ended.end:
            return Result(is_done=False, note=f"{action} of {self._name}: {self._deadline.why()}")
        if ended.status != 0:
            words = as_one_line(ended.output)
            return Result(
                is_done=False, note=f"{action} of {self._name} failed with status {ended.status}: {words}"
            )
        return self._seen_to(action)

    def _seen_to(self, action: str) -> Result:
        """Whether the unit is as it should be now: systemctl only says that the job was done."""
        while True:
            state = self._state()
            if (
                (state in {"active", "reloading"})
                if action != "stop"
                else (state not in _RUNNING | {"deactivating"})
            ):
                return Result(is_done=True, note=f"{action} of {self._name}: it is {state}")
            if state == "failed" or not self._deadline.pause(_LOOK_SECONDS):
                return Result(
                    is_done=False, note=f"{action} of {self._name}: it is {state or 'in no known state'}"
                )

    def _state(self) -> str:
        """The unit's ActiveState."""
        ended = self._ask("show", "--property=ActiveState", "--value", self._name)
        if ended.status != 0:
            why = self._deadline.why() if ended.end else as_one_line(ended.output)
            raise OSError(f"{self._program} does not tell how {self._name} is: {why}")
        return ended.text

    def _ask(self, *arguments: str) -> Exit:
        return run_directly([self._program, *arguments], self._deadline)


HANDLER = Systemd()
