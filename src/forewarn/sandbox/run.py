"""`forewarn sandbox`: the service here, the program in a network where the service is what guests know it as.

The listening sockets are made in that network and handed over here: a socket stays in the network that made it. So
the service runs as it always does, and the program needs no route to anywhere.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from forewarn.emulator import Emulator
from forewarn.sandbox.keeper import LONGEST_MESSAGE, PASSED_ON, Program, keep
from forewarn.sandbox.network import METADATA, OPERATORS, adopt_orphans
from forewarn.sandbox.obstacles import NoSandbox, check_platform, explain, unstarted
from forewarn.sandbox.tree import below, end_all, network_of
from forewarn.service import OpenSockets

_FROM_THE_KERNEL = 0x80  # SI_KERNEL: a key of the terminal, which its whole foreground group was sent
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_SOCKETS = 2
_LONGEST_HOSTNAME = 64
URL = f"http://{OPERATORS[0]}:{OPERATORS[1]}"

MakeEmulator = Callable[[OpenSockets], Emulator]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the program ended."""

    code: int  # its own, or 128 and the number of the signal that ended it
    left: list[str] = field(default_factory=list)  # what it had left running, and was ended: names and ids
    left_count: int = 0


def find_command(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse a command that is not there, before anything is made for it; or `NotRun`."""
    if "/" in command[0] and Path(command[0]).is_dir():
        raise unstarted(command[0], errno.EISDIR)
    path = environment.get("PATH", os.defpath)
    if shutil.which(command[0], path=path) is None:
        exists = shutil.which(command[0], mode=os.F_OK, path=path) is not None
        raise unstarted(command[0], errno.EACCES if exists else errno.ENOENT)


def environment_of(outer: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: where operators are heard, and no proxy in between."""
    inner = {**outer, "FOREWARN_URL": URL}
    for name in ("no_proxy", "NO_PROXY"):
        given = outer.get(name, "")
        if given != "*":
            inner[name] = ",".join(filter(None, (given, METADATA[0], OPERATORS[0])))
    return inner


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    make_emulator: MakeEmulator,
    on_ready: Callable[[Emulator], None] = lambda _: None,
) -> Outcome:
    """Run a program to its end. It takes over this process's signals meanwhile, so call it on the main thread."""
    check_platform()
    find_command(command, environment)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON | {signal.SIGCHLD})
    try:
        group = (os.getpgrp() or None) if _has_terminal() else 0  # one of another process namespace has no number
        program = Program(command, environment, frozenset(before), group)
        with _Keeping(program) as keeping, make_emulator(keeping.receive_sockets()) as emulator:
            on_ready(emulator)
            if (number := _told_to_end()) is not None:
                return Outcome(128 + number)
            keeping.start(_hostname_for(emulator))
            return keeping.wait()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Keeping:
    """The keeper, as seen from here."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __enter__(self) -> Self:
        adopt_orphans()  # should the keeper be killed, what it kept comes here
        self._link, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: int | None = os.fork()
        if self._process == 0:
            self._link.close()
            keep(far, self._program)
        far.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()  # which has the keeper end everything, if it has not yet
        if self._process is not None:
            os.waitpid(self._process, 0)
        end_all(self._find_strays, self._look_for_children, gently=False)

    def receive_sockets(self) -> OpenSockets:
        """The sockets that listen in the program's network; or `NoSandbox`."""
        said, descriptors, _, _ = socket.recv_fds(self._link, LONGEST_MESSAGE, _SOCKETS)
        message: dict[str, Any] = json.loads(said) if said else {"step": "start", "number": 0}
        if "step" in message:
            raise explain(message["step"], message["number"])
        guests, operators = (socket.socket(fileno=each) for each in descriptors)
        for each in (guests, operators):
            each.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        return OpenSockets(guests, operators)

    def start(self, hostname: str | None) -> None:
        """Have the program started."""
        self._send({"hostname": hostname})

    def wait(self) -> Outcome:
        """Pass on what we are sent until the program has ended."""
        while True:
            told = signal.sigwaitinfo(PASSED_ON | {signal.SIGCHLD})
            if told.si_signo == signal.SIGCHLD:
                if self._has_ended():
                    return self._outcome()
            elif not self._has_heard_of(told):
                self._send({"signal": told.si_signo})

    def _has_heard_of(self, told: signal.struct_siginfo) -> bool:
        """Whether the program got it too: keys go to the whole group, but a hang-up to the session's leader."""
        is_for_us = told.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid()
        return told.si_code == _FROM_THE_KERNEL and self._program.group != 0 and not is_for_us

    def _has_ended(self) -> bool:
        if self._process is not None and os.waitpid(self._process, os.WNOHANG)[0] == self._process:
            self._process = None
        return self._process is None

    def _outcome(self) -> Outcome:
        said = self._last_words()
        message: dict[str, Any] = json.loads(said) if said else {}
        if "unstarted" in message:
            raise unstarted(self._program.command[0], message["unstarted"])
        if "ended" not in message:
            raise NoSandbox(
                "The process that kept the sandbox was killed, so all that ran in it was ended.", "Start it again."
            )
        code = int(message["ended"])
        return Outcome(code if code >= 0 else 128 - code, message["left"], message["left_count"])

    def _last_words(self) -> bytes:
        """What the keeper said when it ended; nothing, where it was killed."""
        try:
            return self._link.recv(LONGEST_MESSAGE)
        except ConnectionResetError:  # it did not read all that it was sent; that is said once, and then its words
            return self._link.recv(LONGEST_MESSAGE)

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # it has just ended
            self._link.send(json.dumps(message).encode())

    def _find_strays(self) -> dict[int, str]:
        """What has lost its keeper, told from our own by the network that it is in."""
        ours = network_of(os.getpid())
        return {each: name for each, name in below(os.getpid()).items() if network_of(each) not in {ours, None}}

    def _look_for_children(self, seconds: float) -> None:
        signal.sigtimedwait({signal.SIGCHLD}, seconds)
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


def _told_to_end() -> int | None:
    """The signal that was to end us while there was no program yet to be sent it; None: there was none."""
    ending = {each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN}
    told = signal.sigtimedwait(ending, 0)
    return None if told is None else told.si_signo


def _has_terminal() -> bool:
    """Whether keys of a terminal reach this process and, being in its group, the program."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _hostname_for(emulator: Emulator) -> str | None:
    """The name that the program's machine has to bear; None where it has it already."""
    service = emulator.service
    guest = service.plane.world.vms.get(service.settings.guest or "")
    name = "" if guest is None else guest.computer_name or guest.name
    return name if name and name != socket.gethostname() and len(name) <= _LONGEST_HOSTNAME else None
