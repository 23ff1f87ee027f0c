"""A recording, served again: guests are heard as they always are, operators move its clock.

What happens is what was recorded, whatever is asked: an approval of an event that is there is answered with 200,
noted, and the event starts when it started then.
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
from forewarn.recording.playback import Playback, Scene, scenes_of
from forewarn.recording.reception import make_app
from forewarn.recording.tape import Recording

MOST_APPROVALS = 1000  # are remembered; a guest may approve for ever
_NAMELESS = "vm-0"


@dataclass(frozen=True, slots=True)
class Approval:
    """A guest said "go ahead", and it changed nothing."""

    event: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Manner:
    """How a recording is to be played."""

    start: datetime  # where its clock begins
    shifts: bool  # whether what it says of times moves along
    rate: float = 1.0  # 0: the clock stands until it is moved
    requests_per_second: float = 0.0  # before 429; 0: no limit


class Replay:
    """Serves one recording; start and stop it on one event loop."""

    def __init__(
        self,
        recording: Recording,
        manner: Manner,
        on_scene: Callable[[Scene], None] = lambda _: None,
        on_approval: Callable[[Approval], None] = lambda _: None,
    ) -> None:
        self.recording = recording
        self.manner = manner
        self._on_scene = on_scene
        self._on_approval = on_approval
        self.approvals: deque[Approval] = deque(maxlen=MOST_APPROVALS)  # the last that guests gave
        self.vm = recording.header.vm or _NAMELESS
        self.metadata: list[Address] = []  # where guests are heard, once started
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
        """Hear guests and operators; the clock runs from here on, if it runs."""
        if not is_loopback(operator[0]):
            raise ConfigError(
                "Nobody has to sign in to move the clock of a replay, so operators are heard on loopback only.",
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
            await self._hear_operators(operator[0], bound)
        except BaseException:
            bound.close()
            raise
        self._playing = asyncio.get_running_loop().create_task(self.playback.run())

    async def _hear_operators(self, host: str, bound: socket.socket) -> None:
        try:
            self.operator = (host, bound.getsockname()[1])
            server = OperatorServer(make_app(self), bound, limits=self._operator_limits)
            await server.start()
        except BaseException:
            await self._listener.close()
            raise
        self._operator_server = server

    async def stop(self) -> None:
        """Answer who waits, and let go of everything."""
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
            approval = Approval(event, self.playback.now())
            self.approvals.append(approval)
            self._on_approval(approval)
        return None


async def _first_poll(_vm: str) -> Refusal | None:
    return None  # a replay is always on


def _vm(name: str) -> Vm:
    """The VM that every caller is."""
    return Vm(name=name, vm_id=str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), host="replay", home=None, scope=name)
