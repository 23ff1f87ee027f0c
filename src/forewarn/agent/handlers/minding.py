"""How a program is begun under a minder, and who reads what it says.

The reader is there before the minder is: whenever the agent dies, a program that was begun is read to its end.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from forewarn.agent.compat import dataclass
from forewarn.agent.handlers import output

SHELL = "/bin/sh"
# It works in a directory of its own within the attempt's, and uses only what the shell has built in, whatever PATH
# says. The traps keep it alive, to tell the status, when the whole group gets SIGTERM; the command itself gets the
# defaults back.
MINDER = """
set -C
trap : HUP INT QUIT TERM
exec 3>&2 2>/dev/null
stat=
if [ -r /proc/$$/stat ]; then read -r stat < /proc/$$/stat; fi
echo "$$ $stat" > claim || exit 125
directory=$1
shift
( cd "$directory" && exec "$@" ) 2>&3 3>&-
status=$?
echo "exit $status" > status
exit $status
"""
MARK = "FOREWARN_RUN"  # the variable that tells whose a process is: the attempt's directory
LOST = -(1 << 16)  # for a status: somebody else has collected it, and nobody can tell any more
MINDERS = "minder"  # the directory that the minder may write to
_OUTPUT_SECONDS = 0.5  # a grandchild may hold the output open for ever

_readers: set[subprocess.Popen[bytes]] = set()  # not collected yet; grandchildren may hold their outputs open


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, and how."""

    arguments: tuple[str, ...]
    cwd: str = "/"
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    grace_seconds: float = 2
    secrets: tuple[str, ...] = ()  # what is not to be told of its output


def start(
    program: Program, place: Path, identity: Mapping[str, object]
) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """The minder of the program, and the reader of its output. `OSError` where there is none."""
    if identity:
        os.chown(place / MINDERS, identity["user"], identity["group"])  # type: ignore[arg-type]
    readable, writable = os.pipe()
    try:
        reader = _start_reader(readable, place)
        with (place / "event.json").open("rb") as event:
            minder = subprocess.Popen(  # type: ignore[call-overload]  # noqa: S603 - the command is the operator's
                [SHELL, "-c", MINDER, "minder", program.cwd, *program.arguments],
                stdin=event,
                stdout=writable,
                stderr=subprocess.STDOUT,
                cwd=place / MINDERS,
                env={**program.environment, MARK: str(place)},
                start_new_session=True,
                **identity,
            )
    finally:
        os.close(readable)
        os.close(writable)  # a reader for whom no minder comes is at the end
    return minder, reader


def ending_of(minder: subprocess.Popen[bytes]) -> int | None:
    """Its exit status, or minus the signal that ended it; None while it lives.

    It is not collected by this: until it is, its number is nobody else's.
    """
    if minder.returncode is not None or not hasattr(os, "waitid"):
        return minder.poll()
    try:
        found = os.waitid(os.P_PID, minder.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return LOST
    if found is None:
        return None
    return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def identity_of(user: str) -> dict[str, object]:
    """Whom to run it as; nothing where that is who we are."""
    if not user:
        return {}
    import pwd  # noqa: PLC0415 - there is none on Windows

    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise ValueError(f"there is no user {user!r} on this machine") from None
    if entry.pw_uid == os.geteuid():
        return {}
    groups = os.getgrouplist(user, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}


def collect(reader: subprocess.Popen[bytes]) -> None:
    """Wait a little for the end of the output. One that somebody holds open is read on, and seen to later."""
    with suppress(subprocess.TimeoutExpired):
        reader.wait(_OUTPUT_SECONDS)
    _readers.difference_update([each for each in tuple(_readers) if each.poll() is not None])


def _start_reader(readable: int, place: Path) -> subprocess.Popen[bytes]:
    with (place / "output").open("wb") as kept:
        reader = subprocess.Popen(  # noqa: S603 - our own words
            [SHELL, "-c", output.KEEPER], stdin=readable, stdout=kept, cwd="/", start_new_session=True
        )
    _readers.add(reader)
    return reader
