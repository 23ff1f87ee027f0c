"""Run a program of your own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Doubt, Option, Result, Task, with_defaults
from forewarn.agent.handlers.event_words import variables
from forewarn.agent.handlers.minding import Program
from forewarn.agent.handlers.processes import run_minded, take_over_minded
from forewarn.agent.handlers.records import settled, settled_result

_SYSTEMDS_OWN = {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Command:
    """Runs a program, and another one to undo it."""

    help = (
        "Runs a program, which gets the event as EVENT_* variables and as JSON on its input. Status 0 is success."
    )
    is_for_all_events = False
    options = (
        Option(
            "command",
            "command",
            "The program and its arguments, as a list; with `shell = true`, one text for `/bin/sh`.",
            is_required=True,
        ),
        Option("undo", "command", "The same, for the undo."),
        Option("shell", "flag", "Whether the command is a text for a shell.", default=False),
        Option("user", "text", "The user to run it as. The agent has to be root for that."),
        Option("cwd", "path", "The directory to run it in."),
        Option("environment", "table", "More variables for it."),
        Option(
            "grace_seconds",
            "seconds",
            "When its time is up it gets SIGTERM, with all that it started, and after this time SIGKILL.",
            default=2,
        ),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        problems = [
            problem
            for name in ("command", "undo")
            if said[name] is not None
            for problem in command_problems(name, said[name], is_shell=said["shell"])
        ]
        problems += [
            f"environment has {name!r}, which is no name of a variable. Use letters, digits and _."
            for name in said["environment"] or {}
            if not _VARIABLE.fullmatch(name)
        ]
        if not problems and not said["shell"]:
            problems += [
                doubt
                for name in ("command", "undo")
                if said[name] is not None
                for doubt in _program_doubts(name, said[name][0], said)
            ]
        if said["user"]:
            problems += _user_problems(said["user"])
        if said["cwd"] and not Path(said["cwd"]).is_dir():
            problems.append(
                f"cwd is {str(said['cwd'])!r}, where there is no directory. Create it, or name another."
            )
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:
        """Whether it has a command for the undo."""
        return bool(options.get("undo"))

    def run(self, task: Task) -> Result:
        """Run the command, or the one for the undo."""
        said = with_defaults(self.options, task.options)
        command = said["command" if task.direction is Direction.DO else "undo"]
        if not command:
            return Result(is_done=True, note="it has no undo")
        return settled(task, lambda: run_minded(program_for(command, said, task), task), marks_begin=False)

    def take_over(self, task: Task) -> Result | None:
        """What came of a command of an earlier agent, waiting for it if it still runs."""
        return settled_result(task) or take_over_minded(task, _secrets(task.options))


def command_problems(name: str, command: object, *, is_shell: bool) -> list[str]:
    """What is wrong with a command."""
    if is_shell:
        fits = isinstance(command, str) and bool(command.strip())
        return [] if fits else [f"{name} has to be one text where shell = true, such as {name} = 'drain --now'."]
    if isinstance(command, str):
        return [f'{name} is one text. Write it as a list, {name} = ["drain", "--now"], or add shell = true.']
    if not isinstance(command, (list, tuple)) or not command or not all(isinstance(each, str) for each in command):
        return [f'{name} has to be a list of texts, the program first, such as ["drain", "--now"].']
    if not command[0] or command[0].startswith("-") or any("\0" in each for each in command):
        return [f"{name} names no program that could be run: {command[0]!r}."]
    return []


def _program_doubts(name: str, program: str, said: Mapping[str, Any]) -> list[str]:
    """A program that is not here may be there later, or on the machine that the file is for."""
    path = (said["environment"] or {}).get("PATH") or os.environ.get("PATH") or os.defpath
    places = [said["cwd"] or "."] if "/" in program else path.split(os.pathsep)
    found = [each for each in (os.path.join(place, program) for place in places) if os.path.isfile(each)]  # noqa: PTH113, PTH118 - the standard library's own rules of joining
    if any(os.access(each, os.X_OK) for each in found):
        return []
    if found:
        return [Doubt(f"{name} runs {found[0]}, which is not executable. Run: chmod +x {found[0]}")]
    return [Doubt(f"{name} runs {program}, and there is no such program here. Install it, or mend its name.")]


def program_for(command: str | Sequence[str], options: Mapping[str, Any], task: Task) -> Program:
    """A command as it is run, with the options of a command."""
    said = with_defaults(Command.options, options)
    user = str(said["user"] or "")
    more = {str(name): str(value) for name, value in (said["environment"] or {}).items()}
    return Program(
        arguments=("/bin/sh", "-c", str(command)) if said["shell"] else tuple(map(str, command)),
        cwd=str(said["cwd"] or Path.cwd()),
        environment={**_inherited(), **_home_of(user), **variables(task), **more},
        user=user,
        grace_seconds=float(said["grace_seconds"]),
        secrets=_secrets(options),
    )


def _secrets(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables' values: each may have been read from where secrets are kept."""
    return tuple(str(value) for value in (options.get("environment") or {}).values())


def _inherited() -> dict[str, str]:
    """The agent's own variables, without those by which systemd talks to the agent alone."""
    return {name: value for name, value in os.environ.items() if name not in _SYSTEMDS_OWN}


def _user_problems(user: str) -> list[str]:
    if os.name != "posix":
        return ["user can only be set where there is POSIX. Take it out."]
    import pwd  # noqa: PLC0415 - there is none on Windows

    try:
        entry = pwd.getpwnam(user)
    except (KeyError, ValueError):  # what cannot be a name at all is the latter
        return [f"user is {user!r}, and there is no such user on this machine. Create one, or name another."]
    if os.geteuid() not in {0, entry.pw_uid}:
        return [
            f"user is {user!r}, but only root may run programs as others. Run the agent as root, or take it out."
        ]
    return []


def _home_of(user: str) -> dict[str, str]:
    if not user:
        return {}
    import pwd  # noqa: PLC0415 - there is none on Windows

    try:
        return {"HOME": pwd.getpwnam(user).pw_dir, "USER": user, "LOGNAME": user}
    except KeyError:
        return {}


HANDLER = Command()
