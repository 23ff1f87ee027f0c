"""The process that makes the network, starts the program in it, and ends everything with the sandbox.

It is a fork of the sandbox's process in a process group of its own, and never returns to the caller's code. It
adopts every orphan below it, so it can end them all when the program ends or the sandbox's process disappears.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from forewarn.sandbox.network import SetupError, adopt_orphans, die_with_parent, enter, open_sockets
from forewarn.sandbox.processes import below, end_all

LONGEST_MESSAGE = 64 * 1024
PASSED_ON = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
        signal.SIGALRM,
    }
)
_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGHUP})  # that a terminal sends to a whole group
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Program:
    """The program to run."""

    command: Sequence[str]
    environment: Mapping[str, str]
    mask: frozenset[int]  # its blocked signals, as before the sandbox
    group: int | None  # its process group; 0: one of its own, without a terminal; None: ours


class Keeper:
    """Talks to the sandbox's process over one socket, and ends everything when that closes."""

    def __init__(self, link: socket.socket, program: Program) -> None:
        self._link = link
        self._program = program
        self._process: int | None = None  # of the running program
        self._code: int | None = None
        self._ended, self._woken = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def run(self) -> None:
        """Set up the network, run the program, and clean up."""
        if self._program.group is not None:
            os.setpgid(0, 0)  # a kill of the sandbox's group spares the keeper, which cleans up
        self._listen_to_children()
        adopt_orphans()
        try:
            enter()
            sockets = open_sockets()
        except SetupError as problem:
            self._tell({"step": problem.name, "number": problem.number})
            return
        socket.send_fds(self._link, [b"{}"], [each.fileno() for each in sockets])
        for each in sockets:
            each.close()
        order = self._link.recv(LONGEST_MESSAGE)
        if not order:  # the sandbox's service did not start
            return
        try:
            self._start(json.loads(order).get("hostname"))
        except OSError as problem:
            self._tell({"unstarted": problem.errno})
            return
        self._watch()

    def _listen_to_children(self) -> None:
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, (self._program.mask | PASSED_ON) - {signal.SIGCHLD})

    def _start(self, hostname: str | None) -> None:
        if hostname is not None:
            socket.sethostname(hostname)
        keeper, mask = os.getpid(), self._program.mask

        def prepare() -> None:
            die_with_parent(signal.SIGKILL)
            if os.getppid() != keeper:  # the keeper ended before that
                os._exit(1)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

        # Kept: a dropped Popen reaps its process, and only `_reap` may do that.
        self._started = subprocess.Popen(  # noqa: S603 - to run what it is given is the point
            list(self._program.command),
            env=dict(self._program.environment),
            close_fds=False,  # the program inherits what the sandbox inherited
            preexec_fn=prepare,  # noqa: PLW1509 - this process has one thread
            process_group=self._program.group,
        )
        self._process = self._started.pid

    def _watch(self) -> None:
        """Pass signals on until the program ends, or the sandbox's process is gone."""
        while self._code is None:
            ready, _, _ = select.select([self._link.fileno(), self._ended], [], [])
            if self._ended in ready:
                self._reap()
            if self._link.fileno() in ready and self._code is None:
                order = self._link.recv(LONGEST_MESSAGE)
                if not order:
                    end_all(self._find, self._wait, gently=False)
                    return
                self._pass_on(json.loads(order)["signal"])
        left = end_all(self._find, self._wait, gently=True)
        named = [f"{name} ({process})" for process, name in left.items()]
        self._tell({"ended": self._code, "left": named[:_MOST_NAMED], "left_count": len(named)})

    def _pass_on(self, number: int) -> None:
        """Send a signal to the program; signals of terminal keys go to its whole group."""
        if self._process is None:
            return
        if number in _KEYS and self._program.group == 0 and os.getpgid(self._process) == self._process:
            os.killpg(self._process, number)
        else:
            os.kill(self._process, number)

    def _find(self) -> dict[int, str]:
        return below(os.getpid())

    def _wait(self, seconds: float) -> None:
        select.select([self._ended], [], [], seconds)
        self._reap()

    def _reap(self) -> None:
        """Reap ended children; keep the exit code of the program."""
        with suppress(BlockingIOError):
            os.read(self._ended, 4096)
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if process == self._process:
                self._process, self._code = None, os.waitstatus_to_exitcode(status)

    def _tell(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # the sandbox's process is gone
            self._link.send(json.dumps(message).encode())


def keep(link: socket.socket, program: Program) -> None:
    """Run the keeper in its forked process, and exit."""
    code = 1
    try:
        Keeper(link, program).run()
        code = 0
    finally:
        os._exit(code)
