"""Take a server out of an HAProxy, and put it back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from forewarn.agent.case import Direction
from forewarn.agent.handlers.base import Option, Result, Task, with_defaults
from forewarn.agent.handlers.deadline import Deadline
from forewarn.agent.handlers.haproxy_socket import RuntimeSocket, Unanswered, Unreachable
from forewarn.agent.handlers.records import Before, settled, settled_result

_NAME = re.compile(r"[^\s;/]+/[^\s;/]+")
_ADDRESS = re.compile(r"/.+|[^\s/]+:\d{1,5}")


class Haproxy:
    """Drains servers of an HAProxy over its runtime socket."""

    help = (
        "Sets servers of an HAProxy to drain and waits until their sessions are few; its undo sets them to ready."
    )
    is_for_all_events = True
    options = (
        Option(
            "socket",
            "text",
            "HAProxy's runtime socket: a path, or HOST:PORT. It needs `level admin`.",
            is_required=True,
        ),
        Option("servers", "texts", "The servers, each as BACKEND/SERVER.", is_required=True),
        Option("most_sessions", "number", "So many sessions of a server, running and queued, are few.", default=0),
        Option("poll_seconds", "seconds", "How often it is asked.", default=0.5),
    )

    def check(self, options: Mapping[str, Any]) -> list[str]:
        """What is wrong with the options."""
        said = with_defaults(self.options, options)
        problems = []
        if not _ADDRESS.fullmatch(said["socket"] or ""):
            problems.append(f"socket is {said['socket']!r}. Write /PATH/TO/SOCKET or HOST:PORT.")
        if not said["servers"]:
            problems.append("servers is empty. Name this machine's servers, each as BACKEND/SERVER.")
        problems += [
            f"servers has {name!r}. Write it as BACKEND/SERVER."
            for name in said["servers"] or ()
            if not _NAME.fullmatch(name)
        ]
        if said["poll_seconds"] <= 0:
            problems.append("poll_seconds has to be above 0.")
        return problems

    def undoes(self, options: Mapping[str, Any]) -> bool:  # noqa: ARG002 - none of them matters
        """What was drained is set to ready."""
        return True

    def run(self, task: Task) -> Result:
        """Drain and wait; or set to ready what was ready before."""
        at_it = _Draining(with_defaults(self.options, task.options), task)
        return settled(task, at_it.drain if task.direction is Direction.DO else at_it.set_ready)

    def take_over(self, task: Task) -> Result | None:
        """To set the same state again changes nothing."""
        return settled_result(task)


class _Draining:
    """The servers of one HAProxy, for one attempt."""

    def __init__(self, said: Mapping[str, Any], task: Task) -> None:
        self._servers: Sequence[str] = said["servers"]
        self._most, self._poll_seconds = said["most_sessions"], said["poll_seconds"]
        self._deadline = Deadline(task.seconds, task.stop)
        self._socket = RuntimeSocket(said["socket"], self._deadline)
        self._before = Before(task)

    def drain(self) -> Result:
        """Nothing new goes to them; what they have comes to its end."""
        # What somebody else has taken out is not put back by us.
        self._before.keep({name: self._socket.server(name).is_ready for name in self._servers})
        words = ""
        while True:
            try:
                left = {name: self._drain_one(name) for name in self._servers}
            except Unreachable as problem:  # it was there a moment ago: it is restarted, or time is up
                words = words if self._deadline.is_over and words else str(problem)
            else:
                busy = {name: number for name, number in left.items() if number > self._most}
                words = ", ".join(f"{name} has {number} sessions" for name, number in (busy or left).items())
                if not busy:
                    return Result(is_done=True, note=words)
            if not self._deadline.pause(self._poll_seconds):
                return Result(is_done=False, note=f"{words}: {self._deadline.why()}")

    def set_ready(self) -> Result:
        """Those that were ready before are so again."""
        was = self._before.recall()
        if was is None:
            return self._before.nothing_to_undo("nothing was drained")
        # Those that were drained: the file may name others by now.
        words = [self._set_one_ready(name, was_ready=bool(is_ready)) for name, is_ready in was.items()]
        self._before.forget()
        return Result(is_done=True, note=", ".join(words))

    def _set_one_ready(self, name: str, *, was_ready: bool) -> str:
        state = self._socket.server(name)
        if not was_ready:
            return f"{name} was out before, and is left so"
        if state.is_in_maintenance:
            return f"{name} is left in maintenance, which somebody else asked for"
        if state.is_draining:
            self._socket.set_state(name, "ready")
            if not self._socket.server(name).is_ready:
                raise Unanswered(f"{name} was set to ready, and is not")
        return f"{name} is ready"

    def _drain_one(self, name: str) -> int:
        """See to it that the server drains, also when HAProxy was restarted meanwhile; its sessions."""
        state = self._socket.server(name)
        if state.is_ready:
            self._socket.set_state(name, "drain")
            if not self._socket.server(name).is_draining:
                raise Unanswered(f"{name} was set to drain, and does not")
        return self._socket.sessions(name)


HANDLER = Haproxy()
