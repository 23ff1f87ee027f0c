"""The stream: everything that changes, as server-sent events.

A listener that cannot keep up is let go; it reconnects and reads the state anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime

import msgspec
from starlette.responses import Response, StreamingResponse

from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.fleet import Host, Vm
from forewarn.core.operation import Operation
from forewarn.core.placement import takes_vms
from forewarn.core.scope import Scope
from forewarn.core.world import Changes, Entity, World
from forewarn.operator.endpoint import Call, Endpoint, Nothing
from forewarn.wire.rest import event_view, host_view, operation_view, scope_view, vm_view

_LONGEST_QUEUE = 1000
_HEARTBEAT_SECONDS = 15.0
_MEDIA_TYPE = "text/event-stream"
_HEARTBEAT = b": still here\n\n"


class Stream:
    """Hands every commit to everyone who listens."""

    def __init__(self, plane: ControlPlane, loop: asyncio.AbstractEventLoop) -> None:
        self._plane = plane
        self._loop = loop
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self.is_closed = False
        plane.observers.append(self._observe)

    def _observe(self, changes: Changes) -> None:
        """Called on the plane's thread, after each commit."""
        if not self._listeners or self._loop.is_closed():
            return
        world, now = self._plane.world, self._plane.clock.now()
        messages = [
            _message(changes.number, name, view)
            for entity in changes.entities
            for name, view in _told(world, entity, now)
        ]
        if messages:
            self._loop.call_soon_threadsafe(self._send, b"".join(messages))

    def _send(self, messages: bytes) -> None:
        for listener in list(self._listeners):
            if listener.qsize() >= _LONGEST_QUEUE:
                self._listeners.discard(listener)
                listener.put_nowait(None)
            else:
                listener.put_nowait(messages)

    async def messages(self, may_listen: Callable[[], bool]) -> AsyncIterator[bytes]:
        """All that changes from now on, to whoever may hear it, for as long as that is so."""
        listener: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._listeners.add(listener)
        try:
            yield b": listening\n\n"
            while not self.is_closed:
                try:
                    message = await asyncio.wait_for(listener.get(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    message = _HEARTBEAT
                if message is None or not may_listen():
                    return
                yield message
        finally:
            self._listeners.discard(listener)

    def close(self) -> None:
        """Let everyone go."""
        self.is_closed = True
        for listener in self._listeners:
            listener.put_nowait(None)


def _message(number: int, name: str, view: msgspec.Struct) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), msgspec.json.encode(view))


def _told(world: World, entity: Entity, now: datetime) -> Iterator[tuple[str, msgspec.Struct]]:
    """What listeners are told of a changed entity: `event.started` and the event, for example."""
    match entity:
        case Event():
            yield f"event.{entity.phase.lower()}", event_view(world, entity, now)
        case Operation():
            yield (
                f"operation.{entity.phase.lower()}",
                operation_view(world, entity, world.events_of(entity.id), now),
            )
        case Scope():
            yield "scope.changed", scope_view(world, entity, None)
        case Vm():
            yield "vm.deleted" if entity.is_gone else "vm.changed", vm_view(world, entity)
        case Host():
            yield "host.changed", host_view(world, entity, takes_vms=takes_vms(world, entity))
        case _:
            pass


async def show_stream(call: Call, _: Nothing) -> Response:
    """Everything that changes, as it changes."""
    stream: Stream = call.request.app.state.stream
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    caller, sign_in = call.caller, call.office.sign_in
    heard = stream.messages(lambda: sign_in.still_lets_in(caller))
    return StreamingResponse(heard, media_type=_MEDIA_TYPE, headers=headers)


ENDPOINTS = [
    Endpoint(
        "GET",
        "/v1/stream",
        show_stream,
        "Server-sent events: everything that changes",
        str,
        media_type=_MEDIA_TYPE,
    )
]
