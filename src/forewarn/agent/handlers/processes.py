"""A program that outlives the agent, and is found again by the next one.

It runs under a minder, a few lines of shell in a session of their own. The minder claims the attempt by a file
that only one can create, with its process id; it writes the exit status when there is one. So the next agent can
tell: not begun (and never will be: it claims the attempt itself), still running, ended so, dead without a word.
What a minder that died without a word has left running is ended before the attempt counts as over; what only may
be left of it is waited for within its time.

The minder runs as the program's user, and that user may write what the minder writes. So those two files lie in a
directory of their own; what the agent writes lies above it, out of reach. The claim is read, not believed: nobody
is ended but a session of that user, and without its leader only one that has the attempt's mark.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from forewarn.agent.handlers import output
from forewarn.agent.handlers.base import Result, Task
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.direct import run_directly
from forewarn.agent.handlers.event_words import azure_members
from forewarn.agent.handlers.minding import (
    LOST,
    MARK,
    MINDERS,
    SHELL,
    Program,
    collect,
    ending_of,
    identity_of,
    start,
)
from forewarn.agent.handlers.proc import (
    Process,
    boot_id,
    has_variable,
    is_alive,
    is_of,
    is_session_alive,
    is_session_of,
    members,
    process,
    read_stat,
)
from forewarn.agent.handlers.records import mark, marked, recall
from forewarn.agent.handlers.sessions import End, end_session

_VOID = "void"
_LOOK_SECONDS = 0.05
_CLAIM_SECONDS = 2  # from a claim's creation to its words
_MOST_BYTES = 4096  # of what it writes; the program's user may write more there
_COULD_NOT = re.compile(r"minder: (?:exec: |line |\d+: )+(.+)")  # in the words of dash, bash or busybox
_SIGNALLED = 128  # a shell's word for "ended by a signal"


def run_minded(program: Program, task: Task, shell: str = SHELL) -> Result:
    """Run it to its end, or to the end of its time. `OSError` where it cannot be started."""
    deadline = Deadline(task.seconds, task.stop)
    place = _new_place(task.scratch)
    (place / "event.json").write_text(json.dumps(azure_members(task.event)), encoding="utf-8")
    is_minded = os.name == "posix" and Path(shell).exists()
    identity = identity_of(program.user) if is_minded else {}
    said = {"boot": boot_id(), "is_minded": is_minded, "grace_seconds": program.grace_seconds}
    mark(place / "begun.json", said | ({"user": identity["user"]} if identity else {}))
    if not is_minded:
        return _run_unminded(program, place, deadline)
    minder, reader = start(program, place, identity)
    ending = _ending_within(deadline, minder)
    if ending is not None and ending < 0 and (told := _status(place)) is not None:
        ending = told
    end = None
    if ending is None:
        end = _give_up(minder.pid, place, program.grace_seconds)
    elif ending < 0 and is_session_alive(minder.pid):
        end = end_session(minder.pid, program.grace_seconds)
    with suppress(subprocess.TimeoutExpired):
        minder.wait(1)  # not before: its number would be anybody's
    collect(reader)
    words = output.last_lines(place / "output", program.secrets)
    if end is None or ending == LOST:
        return _judge(ending or 0, words)
    why = deadline.why() if ending is None else f"its minder was ended by signal {-ending} while it ran"
    return _cut_short(why, end, words)


def _ending_within(deadline: Deadline, minder: subprocess.Popen[bytes]) -> int | None:
    look_seconds = 0.001
    while (ending := ending_of(minder)) is None and deadline.pause(look_seconds):
        look_seconds = min(look_seconds * 2, _LOOK_SECONDS)
    return ending


def take_over_minded(task: Task, secrets: Collection[str] = ()) -> Result | None:
    """What came of a program that an earlier agent began; None where it did not begin, and never will."""
    place = _last_place(task.scratch)
    if place is None:
        return None
    begun = marked(place / "begun.json")
    if begun is None:
        return None
    if recall(place / "given_up.json") is not None:
        if begun.get("boot") == boot_id() and (minder := _claimant(place)) is not None:
            _end_all(minder, place, begun, Deadline(0))
        return _failure("it was given up when the agent ended", output.last_lines(place / "output", secrets))
    if (status := _status(place)) is not None:
        return _judge(status, output.last_lines(place / "output", secrets))
    if begun.get("is_minded") is False:
        return _failure("it ran when the agent ended, and what came of it is not known", may_go_on=True)
    if begun.get("boot") != boot_id():
        return _failure("the machine went down while it ran")
    if _claim(place):
        return None
    minder = _claimant(place)
    if minder is None:
        said = _read(place / MINDERS / "claim").strip()
        return None if said == _VOID else _failure("it died with the agent before it had well begun")
    return _wait_for(minder, place, task, begun, secrets)


def _is_impostor(minder: Process, begun: Mapping[str, Any]) -> bool:
    """Whether it lives and cannot be the minder: whoever can write the claim can name any process there."""
    user = begun.get("user")
    is_believed = is_session_of(minder.pid, user if isinstance(user, int) else os.geteuid())
    return not is_believed and is_alive(minder)  # in this order: it may end while it is looked at


def _wait_for(
    minder: Process, place: Path, task: Task, begun: Mapping[str, Any], secrets: Collection[str]
) -> Result:
    if _is_impostor(minder, begun):
        claims = f"process {minder.pid} claims to be it and is not its user's: what came of it is not known"
        return _failure(claims, may_go_on=True)
    deadline = Deadline(task.seconds, task.stop)
    while is_alive(minder):
        if not deadline.pause(_LOOK_SECONDS):
            given_up = _give_up(minder.pid, place, _grace_seconds(begun)) if is_alive(minder) else End("it ended")
            return _cut_short(deadline.why(), given_up, output.last_lines(place / "output", secrets))
    status = _status(place)  # read after its end: now or never
    end = None if status is not None else _end_all(minder, place, begun, deadline)
    words = output.last_lines(place / "output", secrets)
    if status is not None:
        return _judge(status, words)
    if end is not None:
        return _cut_short("its minder was ended while it ran", end, words)
    return _failure("it died with the agent, or was ended", words)


def _end_all(minder: Process, place: Path, begun: Mapping[str, Any], deadline: Deadline) -> End | None:
    """End the session of an earlier agent's minder, or what is left of it; None: there was nothing.

    One process with the mark of the attempt tells that the whole session is its own: while that one lives, no
    other session can have the number. Where the program is another user's, all of it has to be that user's. What
    is not known to be its own is not touched, but waited for.
    """
    if is_alive(minder):
        return None if _is_impostor(minder, begun) else end_session(minder.pid, _grace_seconds(begun))
    left = members(minder.pid) if process(minder.pid) is None else []
    if not left:
        return None
    user = begun.get("user")
    is_marked = any(has_variable(each.pid, MARK, str(place)) for each in left)
    if is_marked and (user is None or all(is_of(each.pid, user) or not is_alive(each) for each in left)):
        return end_session(minder.pid, _grace_seconds(begun))
    while any(is_alive(each) for each in left):
        if not deadline.pause(_LOOK_SECONDS):
            return End(f"process {', '.join(str(each.pid) for each in left)} may be left of it", is_over=False)
    return End("what it left has ended since")


def _grace_seconds(begun: Mapping[str, Any]) -> float:
    return float(begun.get("grace_seconds", 2))


def _give_up(session: int, place: Path, grace_seconds: float) -> End:
    """End it. Noted first, by a name: a program that says success when it is ended has not succeeded.

    A disk that is full takes a name; one that does not take even that saves nobody.
    """
    with suppress(OSError):  # the program has it open, and nobody needs its name again
        (place / "event.json").replace(place / "given_up.json")
    return end_session(session, grace_seconds)


def _run_unminded(program: Program, place: Path, deadline: Deadline) -> Result:
    ended = run_directly(
        program.arguments,
        deadline,
        grace_seconds=program.grace_seconds,
        cwd=program.cwd,
        environment=program.environment,
        said_to_it=place / "event.json",
    )
    words = output.as_one_line(ended.output, program.secrets)
    return _cut_short(deadline.why(), ended.end, words) if ended.end else _judge(ended.status or 0, words)


def _judge(status: int, words: str) -> Result:
    if status == 0:
        return Result(is_done=True, note=words)
    if could_not := _COULD_NOT.fullmatch(words):
        return _failure("it could not be run", could_not[1])
    if status == LOST:
        return _failure("how it ended is not known", words)
    if status < 0:
        return _failure(f"it was ended by signal {-status}", words)
    more = f" (signal {status - _SIGNALLED})" if _SIGNALLED < status < _SIGNALLED + 65 else ""
    return _failure(f"exit status {status}{more}", words)


def _cut_short(why: str, end: End, words: str) -> Result:
    return _failure(f"{why}, and {end.words}", words, may_go_on=not end.is_over)


def _failure(what: str, words: str = "", *, may_go_on: bool = False) -> Result:
    """It has failed. What may still be running, as far as is known here, may yet be done."""
    return Result(is_done=False, note=f"{what}: {words}" if words else what, is_uncertain=may_go_on)


def _new_place(scratch: Path) -> Path:
    """A directory for one start of the program: what an earlier one left is never taken for this one's."""
    scratch.mkdir(parents=True, exist_ok=True)
    last = _last_place(scratch)
    place = scratch / f"run-{int(last.name.removeprefix('run-')) + 1 if last else 1}"
    place.mkdir(mode=0o700)
    (place / MINDERS).mkdir(mode=0o700)
    return place


def _last_place(scratch: Path) -> Path | None:
    places = [each for each in scratch.glob("run-*") if each.name.removeprefix("run-").isdigit()]
    return max(places, key=lambda each: int(each.name.removeprefix("run-")), default=None)


def _claim(place: Path) -> bool:
    """Whether nobody had begun, so that nobody ever will: the claim is ours."""
    claim = place / MINDERS / "claim"
    claim.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with claim.open("x", encoding="ascii") as file:
            file.write(_VOID)
    except FileExistsError:
        return False
    return True


def _claimant(place: Path) -> Process | None:
    """The minder; None where it did not get to write who it is."""
    deadline = Deadline(_CLAIM_SECONDS)
    while (said := _read(place / MINDERS / "claim")) != _VOID:
        if said.endswith("\n"):
            pid, _, line = said.strip().partition(" ")
            return read_stat(line) or (Process(int(pid), 0) if pid.isdigit() else None)
        if not deadline.pause(_LOOK_SECONDS):
            break
    return None


def _status(place: Path) -> int | None:
    said = _read(place / MINDERS / "status")
    if not said.endswith("\n"):
        return None
    word, _, number = said.strip().partition(" ")
    return int(number) if word == "exit" and number.isdigit() else None


def _read(path: Path) -> str:
    """What the minder wrote. Its user may put anything there: only a file is read, and little of a long one."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        said = os.read(number, _MOST_BYTES) if stat.S_ISREG(os.fstat(number).st_mode) else b""
    except OSError:
        return ""
    finally:
        os.close(number)
    return said.decode("ascii", "replace")
