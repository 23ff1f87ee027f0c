"""The stream: everything that changes, as server-sent events, and what is waited for when that alone does.

A listener that cannot keep up is let go with a last `overflow`; it connects again and reads the state anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from datetime import datetime

import msgspec
from starlette.responses import Response, StreamingResponse

from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ScaleSet, Vm
from forewarn.core.operation import Operation
from forewarn.core.placement import takes_vms
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.scope import Scope
from forewarn.core.world import Changes, Entity
from forewarn.operator.endpoint import Call, Endpoint, Nothing, OperatorContext
from forewarn.operator.refusals import TroubleCode, refuse
from forewarn.operator.rollouts import view_of
from forewarn.operator.waits import Waiting, Waits
from forewarn.wire.rest import (
    EventView,
    OperationView,
    event_view,
    host_view,
    operation_view,
    scope_view,
    set_view,
    vm_view,
)
from forewarn.wire.rollouts import RolloutView, turn_view

MOST_LISTENERS = 100
MOST_WAITING = 10_000  # messages that a listener has not taken yet
_RETRY_SECONDS = 10
_HEARTBEAT_SECONDS = 15.0
_MEDIA_TYPE = "text/event-stream"
_HEARTBEAT = b": still here\n\n"
_OVERFLOW = b'event: overflow\ndata: {"hint":"Connect again and read the state anew."}\n\n'


class Listener:
    """What one listener has not taken yet; lives on the loop."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[bytes, int] | None] = asyncio.Queue()
        self._waiting = 0

    def tell(self, messages: bytes, count: int) -> None:
        """Let it have so many more messages, or let it go."""
        if self._waiting + count > MOST_WAITING:
            self.dismiss(_OVERFLOW)
        else:
            self._waiting += count
            self._queue.put_nowait((messages, count))

    def dismiss(self, last: bytes = b"") -> None:
        """Let it go: with these last words, instead of all that it has not taken."""
        self._waiting = MOST_WAITING
        while not self._queue.empty():
            self._queue.get_nowait()
        if last:
            self._queue.put_nowait((last, 0))
        self._queue.put_nowait(None)

    async def next(self) -> bytes | None:
        """What comes next; None at the end."""
        try:
            found = await asyncio.wait_for(self._queue.get(), _HEARTBEAT_SECONDS)
        except TimeoutError:
            return _HEARTBEAT
        if found is None:
            return None
        messages, count = found
        self._waiting -= count
        return messages


class Stream:
    """Hands every commit to everyone who listens."""

    def __init__(self, context: OperatorContext, loop: asyncio.AbstractEventLoop) -> None:
        self._plane = context.plane
        self._loop = loop
        self._listeners: set[Listener] = set()
        self._waits = Waits(context.plane)
        self._events_of: dict[str, dict[str, None]] = {}  # the world forgets them with their operation
        self._is_closed = False
        self._is_attached = context.runner.submit(self._attach)

    @property
    def is_full(self) -> bool:
        """Whether one more listener would be too many."""
        return len(self._listeners) >= MOST_LISTENERS

    # On the plane's thread.

    def _attach(self) -> None:
        self._remember_events(self._plane.world.events.values())
        self._plane.committed.subscribe(self._observe)
        self._plane.ticked.subscribe(self._watch)

    def _observe(self, changes: Changes) -> None:
        """Called after each commit."""
        self._remember_events(changes.entities)
        if self._listeners and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, *self._messages(changes))
        for entity in changes.entities:
            if isinstance(entity, Operation) and not entity.phase.is_open:
                self._events_of.pop(entity.id, None)

    def _watch(self, looked_at: Collection[str]) -> None:
        """Called after each tick: what was looked at may wait for something else now."""
        if not self._listeners or self._loop.is_closed():
            self._waits.forget()
            return
        number, now = self._plane.world.number, self._plane.clock.now()
        messages = [
            message for each in self._waits.changed(looked_at) for message in self._written(number, each, now)
        ]
        if messages:
            self._loop.call_soon_threadsafe(self._tell, b"".join(messages), len(messages))

    def _remember_events(self, entities: Iterable[Entity]) -> None:
        for entity in entities:
            if isinstance(entity, Event):
                self._events_of.setdefault(entity.operation, {})[entity.id] = None

    def _messages(self, changes: Changes) -> tuple[bytes, int]:
        """The messages about a commit, and how many they are; none are made of more than anybody may have."""
        if len(changes.entities) > MOST_WAITING:
            return b"", len(changes.entities)
        now = self._plane.clock.now()
        messages = [
            message for entity in changes.entities for message in self._written(changes.number, entity, now)
        ]
        return b"".join(messages), len(messages)

    def _written(self, number: int, entity: Entity, now: datetime) -> Iterator[bytes]:
        for name, view in self._told(entity, now):
            if isinstance(view, EventView | OperationView | RolloutView) and isinstance(entity, Waiting):
                self._waits.note(entity, view.waiting_for)
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), msgspec.json.encode(view))

    def _told(self, entity: Entity, now: datetime) -> Iterator[tuple[str, msgspec.Struct]]:
        """What listeners are told of a changed entity: `event.started` and the event, for example."""
        world = self._plane.world
        match entity:
            case Event():
                yield f"event.{entity.phase.lower()}", event_view(world, entity, now)
            case Operation():
                events = self._events_of.get(entity.id, ())
                yield f"operation.{entity.phase.lower()}", operation_view(world, entity, events, now)
            case Rollout():
                yield f"rollout.{entity.state.lower()}", view_of(self._plane, entity)
            case Turn():
                yield f"turn.{entity.state.lower()}", turn_view(entity)
            case Scope():
                last_poll = self._plane.polls.last(entity.id)
                yield _changed("scope", is_gone=entity.is_gone), scope_view(world, entity, last_poll)
            case Vm():
                yield _changed("vm", is_gone=entity.is_gone), vm_view(world, entity)
            case Host():
                is_open = takes_vms(world, entity)
                yield _changed("host", is_gone=entity.is_gone), host_view(world, entity, takes_vms=is_open)
            case AvailabilitySet() | ScaleSet() | CloudService():
                yield _changed("set", is_gone=entity.is_gone), set_view(world, entity)
            case _:
                pass

    # On the loop.

    def _tell(self, messages: bytes, count: int) -> None:
        if count:
            for listener in self._listeners:
                listener.tell(messages, count)

    async def messages(self, may_listen: Callable[[], bool]) -> AsyncIterator[bytes]:
        """All that changes from now on, to whoever may hear it, for as long as that is so."""
        listener = Listener()
        self._listeners.add(listener)
        try:
            await asyncio.shield(asyncio.wrap_future(self._is_attached))  # nothing is missed from here on
            yield b": listening\n\n"
            while not self._is_closed and (message := await listener.next()) is not None and may_listen():
                yield message
        finally:
            self._listeners.discard(listener)

    def close(self) -> None:
        """Let everyone go."""
        self._is_closed = True
        for listener in self._listeners:
            listener.dismiss()


def _changed(what: str, *, is_gone: bool) -> str:
    return f"{what}.deleted" if is_gone else f"{what}.changed"


async def show_stream(call: Call, _: Nothing) -> Response:
    """Everything that changes, as it changes."""
    stream: Stream = call.request.app.state.stream
    if stream.is_full:
        answer = refuse(
            TroubleCode.TOO_MANY_LISTENERS,
            f"{MOST_LISTENERS} listen already.",
            "Close one of them, or try again later.",
        )
        answer.headers["Retry-After"] = str(_RETRY_SECONDS)
        return answer
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    caller, sign_in = call.caller, call.context.sign_in
    heard = stream.messages(lambda: sign_in.still_lets_in(caller))
    return StreamingResponse(heard, media_type=_MEDIA_TYPE, headers=headers)


ENDPOINTS = [
    Endpoint(
        "GET",
        "/v1/stream",
        show_stream,
        "Server-sent events: everything that changes, and what is waited for when that alone does",
        str,
        media_type=_MEDIA_TYPE,
    )
]
