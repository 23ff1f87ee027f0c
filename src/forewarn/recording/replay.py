"""Serve a recording again: guests poll it as usual, and operators move its clock.

Guests cannot change what was recorded: an approval of an open event gets 200 and is noted, and the event starts
when it started in the recording.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.board.board import Board
from forewarn.config_values import Address
from forewarn.core.fleet import Vm
from forewarn.core.refusal import Code, Refusal
from forewarn.descriptors import open_limit, share
from forewarn.edge.context import EdgeContext
from forewarn.edge.limits import MOST_CONNECTIONS, GuestLimits
from forewarn.edge.listener import GuestListener
from forewarn.errors import ConfigError
from forewarn.operator.connection import OperatorLimits
from forewarn.operator.guard import is_loopback
from forewarn.operator.server import OperatorServer, bind
from forewarn.recording.file import Recording
from forewarn.recording.operator_api import make_app
from forewarn.recording.playback import Playback, Scene, scenes_of

MOST_APPROVALS = 1000  # the newest are kept
_NAMELESS = "vm-0"


@dataclass(frozen=True, slots=True)
class NotedApproval:
    """An approval, which has no effect."""

    event: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How to replay a recording."""

    start: datetime  # of the clock
    shifts: bool  # whether the times in documents move along
    rate: float = 1.0  # 0: the clock stands still until it is moved
    requests_per_second: float = 0.0  # before 429; 0: no limit


class Replay:
    """Serves one recording; start and stop it on one event loop."""

    def __init__(
        self,
        recording: Recording,
        manner: ReplayOptions,
        on_scene: Callable[[Scene], None] = lambda _: None,
        on_approval: Callable[[NotedApproval], None] = lambda _: None,
    ) -> None:
        self.recording = recording
        self.manner = manner
        self._on_scene = on_scene
        self._on_approval = on_approval
        self.approvals: deque[NotedApproval] = deque(maxlen=MOST_APPROVALS)  # the newest
        self.vm = recording.header.vm or _NAMELESS
        self.metadata: list[Address] = []  # the guest listeners, once started
        self.operator: Address = ("", 0)
        self._board = Board()
        shares = share(MOST_CONNECTIONS, OperatorLimits().connections, open_limit())
        self._operator_limits = OperatorLimits(connections=shares.operators)
        self._edge = EdgeContext(
            self._board,
            approve=self._approve,
            first_poll=_first_poll,
            limits=GuestLimits(requests_per_second=manner.requests_per_second, connections=shares.guests),
        )
        self._operator_server: OperatorServer | None = None
        self._playing: asyncio.Task[None] | None = None

    async def start(self, metadata: Sequence[Address], operator: Address) -> None:
        """Start listening, and start the clock."""
        if not is_loopback(operator[0]):
            raise ConfigError(
                "A replay has no authentication, so its operator API listens on loopback only.",
                "Use 127.0.0.1:PORT with --operator.",
            )
        bound = bind(operator)
        try:
            scenes = scenes_of(self.recording, self.manner.start, shifts=self.manner.shifts)
            self.playback = Playback(scenes, self._show, self.manner.rate)
            self._board.seat([_vm(self.vm)])
            self._listener = GuestListener(self._edge, self.playback, self.vm, is_anybody=True)
            self.playback.moved.subscribe(self._listener.tell_date)
            self.metadata = await self._listener.open(metadata)
            await self._serve_operators(operator[0], bound)
        except BaseException:
            bound.close()
            raise
        self._playing = asyncio.get_running_loop().create_task(self.playback.run())

    async def _serve_operators(self, host: str, bound: socket.socket) -> None:
        try:
            self.operator = (host, bound.getsockname()[1])
            server = OperatorServer(make_app(self), bound, limits=self._operator_limits)
            await server.start()
        except BaseException:
            await self._listener.close()
            raise
        self._operator_server = server

    async def stop(self) -> None:
        """Answer waiting guests, and close everything."""
        if self._playing is not None:
            self._playing.cancel()
        await self._listener.close()
        if self._operator_server is not None:
            await self._operator_server.stop()

    def _show(self, scene: Scene) -> None:
        self._board.show(self.vm, scene.page, is_on=True)
        self._on_scene(scene)

    async def _approve(self, _vm: str, events: tuple[str, ...]) -> Refusal | None:
        there = self.playback.scene.page.ids
        unknown = [event for event in events if event not in there]
        if unknown:
            return Refusal(Code.NOT_FOUND, f"There is no event {unknown[0]}")
        for event in events:
            approval = NotedApproval(event, self.playback.now())
            self.approvals.append(approval)
            self._on_approval(approval)
        return None


async def _first_poll(_vm: str) -> Refusal | None:
    return None  # a replay is always on


def _vm(name: str) -> Vm:
    """The VM of every caller."""
    return Vm(name=name, vm_id=str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), host="replay", home=None, scope=name)
