"""Run a program in a network where 169.254.169.254 is the emulator, which runs in this process.

The keeper opens the listening sockets in that network and passes them here: a socket stays in its network. So the
service runs as usual, and the program needs no route.
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
from forewarn.sandbox.processes import below, end_all, network_of
from forewarn.service import OpenSockets

_FROM_THE_KERNEL = 0x80  # SI_KERNEL: a key of the terminal, which its whole foreground group was sent
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_SOCKETS = 2
_LONGEST_HOSTNAME = 64
URL = f"http://{OPERATORS[0]}:{OPERATORS[1]}"

MakeEmulator = Callable[[OpenSockets], Emulator]


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """How the program ended."""

    code: int  # its exit code, or 128 plus the number of its signal
    left: list[str] = field(
        default_factory=list
    )  # names and ids of processes that it left running, which were ended
    left_count: int = 0


def find_command(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise `NotRun` if there is no such command."""
    if "/" in command[0] and Path(command[0]).is_dir():
        raise unstarted(command[0], errno.EISDIR)
    path = environment.get("PATH", os.defpath)
    if shutil.which(command[0], path=path) is None:
        exists = shutil.which(command[0], mode=os.F_OK, path=path) is not None
        raise unstarted(command[0], errno.EACCES if exists else errno.ENOENT)


def environment_of(outer: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: with FOREWARN_URL, and without a proxy for the two addresses."""
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
) -> SandboxResult:
    """Run a program to its end. Call it on the main thread: it takes over the signals meanwhile."""
    check_platform()
    find_command(command, environment)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON | {signal.SIGCHLD})
    try:
        group = (
            (os.getpgrp() or None) if _has_terminal() else 0
        )  # a group of another process namespace has no number
        program = Program(command, environment, frozenset(before), group)
        with _Keeping(program) as keeping, make_emulator(keeping.receive_sockets()) as emulator:
            on_ready(emulator)
            if (number := _told_to_end()) is not None:
                return SandboxResult(128 + number)
            keeping.start(_hostname_for(emulator))
            return keeping.wait()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Keeping:
    """The keeper, from the sandbox's process."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __enter__(self) -> Self:
        adopt_orphans()  # if the keeper is killed, its children come here
        self._link, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process: int | None = os.fork()
        if self._process == 0:
            self._link.close()
            keep(far, self._program)
        far.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._link.close()  # the keeper then ends everything
        if self._process is not None:
            os.waitpid(self._process, 0)
        end_all(self._find_strays, self._look_for_children, gently=False)

    def receive_sockets(self) -> OpenSockets:
        """The listening sockets in the program's network; raise `NoSandbox`."""
        said, descriptors, _, _ = socket.recv_fds(self._link, LONGEST_MESSAGE, _SOCKETS)
        message: dict[str, Any] = json.loads(said) if said else {"step": "start", "number": 0}
        if "step" in message:
            raise explain(message["step"], message["number"])
        guests, operators = (socket.socket(fileno=each) for each in descriptors)
        for each in (guests, operators):
            each.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        return OpenSockets(guests, operators)

    def start(self, hostname: str | None) -> None:
        """Start the program."""
        self._send({"hostname": hostname})

    def wait(self) -> SandboxResult:
        """Pass signals on until the program ends."""
        while True:
            told = signal.sigwaitinfo(PASSED_ON | {signal.SIGCHLD})
            if told.si_signo == signal.SIGCHLD:
                if self._has_ended():
                    return self._result()
            elif not self._has_heard_of(told):
                self._send({"signal": told.si_signo})

    def _has_heard_of(self, told: signal.struct_siginfo) -> bool:
        """Whether the program got the signal too: keys go to the group, a hang-up to the session leader."""
        is_for_us = told.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid()
        return told.si_code == _FROM_THE_KERNEL and self._program.group != 0 and not is_for_us

    def _has_ended(self) -> bool:
        if self._process is not None and os.waitpid(self._process, os.WNOHANG)[0] == self._process:
            self._process = None
        return self._process is None

    def _result(self) -> SandboxResult:
        said = self._last_words()
        message: dict[str, Any] = json.loads(said) if said else {}
        if "unstarted" in message:
            raise unstarted(self._program.command[0], message["unstarted"])
        if "ended" not in message:
            raise NoSandbox(
                "The process that kept the sandbox was killed, so all that ran in it was ended.", "Start it again."
            )
        code = int(message["ended"])
        return SandboxResult(code if code >= 0 else 128 - code, message["left"], message["left_count"])

    def _last_words(self) -> bytes:
        """The keeper's last message; empty if it was killed."""
        try:
            return self._link.recv(LONGEST_MESSAGE)
        except ConnectionResetError:  # raised once if the keeper left data unread; then comes its message
            return self._link.recv(LONGEST_MESSAGE)

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):  # the keeper has just ended
            self._link.send(json.dumps(message).encode())

    def _find_strays(self) -> dict[int, str]:
        """Orphans of a killed keeper: descendants in another network than ours."""
        ours = network_of(os.getpid())
        return {each: name for each, name in below(os.getpid()).items() if network_of(each) not in {ours, None}}

    def _look_for_children(self, seconds: float) -> None:
        signal.sigtimedwait({signal.SIGCHLD}, seconds)
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)


def _told_to_end() -> int | None:
    """A pending signal to end, from before the program started; None: there is none."""
    ending = {each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN}
    told = signal.sigtimedwait(ending, 0)
    return None if told is None else told.si_signo


def _has_terminal() -> bool:
    """Whether a terminal's keys reach this process and, in the same group, the program."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _hostname_for(emulator: Emulator) -> str | None:
    """The host name to set for the program; None to keep the current one."""
    service = emulator.service
    guest = service.plane.world.vms.get(service.settings.guest or "")
    name = "" if guest is None else guest.computer_name or guest.name
    return name if name and name != socket.gethostname() and len(name) <= _LONGEST_HOSTNAME else None
