"""What listeners were last told of what open events and rollouts wait for.

Words change without a commit of their own: a neighbour is done, a scope comes on, a recovery begins. What the
plane has looked at may wait for something else now; only that is compared, and only while somebody listens.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.operation import Operation
from forewarn.core.rollout import Rollout
from forewarn.core.rollout_course import waiting_for as rollout_waits_for
from forewarn.wire.rest import waiting_for

Waiting = Event | Operation | Rollout

_SHARE = 0.1  # of the plane's time may go into comparing, where there is much of it
_BURST_SECONDS = 0.25
_DATE = re.compile(r"\d{4}-\d\d-\d\d (?=\d\d:\d\d)")  # written until the day has come: the same instant afterwards


class Waits:
    """Finds what waits for something else than was told; lives on the plane's thread."""

    def __init__(self, plane: ControlPlane, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._plane = plane
        self._monotonic = monotonic
        self._told: dict[str, tuple[str, ...]] = {}
        self._operations: dict[str, None] = {}  # to be compared, in the order in which they were looked at
        self._rollouts: dict[str, None] = {}
        self._spent_seconds = 0.0
        self._spent_at = monotonic()

    def note(self, entity: Waiting, words: Sequence[str]) -> None:
        """These words were told; none are kept of what has ended."""
        is_open = entity.state.is_open if isinstance(entity, Rollout) else entity.phase.is_open
        if is_open:
            self._told[entity.id] = _without_dates(words)
        else:
            self._told.pop(entity.id, None)

    def forget(self) -> None:
        """Nobody listens: whoever comes next reads the state anew."""
        for kept in (self._told, self._operations, self._rollouts):
            kept.clear()

    def changed(self, looked_at: Iterable[str]) -> Iterator[Waiting]:
        """Those that wait for something else than was told; what there is no time for comes at the next call.

        The time until the next one is asked for counts too.
        """
        self._take(looked_at)
        while (self._operations or self._rollouts) and self._has_time():
            yield from self._compare_next()
            self._spent_seconds += self._monotonic() - self._spent_at

    def _take(self, looked_at: Iterable[str]) -> None:
        world = self._plane.world
        for each in looked_at:
            if each in world.rollouts:
                self._rollouts[each] = None
            elif (operation := world.operations.get(each)) is not None:
                self._operations[each] = None
                if operation.rollout in world.rollouts:  # it waits for what its operations wait for
                    self._rollouts[operation.rollout] = None

    def _has_time(self) -> bool:
        now = self._monotonic()
        self._spent_seconds = max(0.0, self._spent_seconds - (now - self._spent_at) * _SHARE)
        self._spent_at = now
        return self._spent_seconds < _BURST_SECONDS

    def _compare_next(self) -> Iterator[Waiting]:
        world, now = self._plane.world, self._plane.clock.now()
        pending = self._operations or self._rollouts
        each = next(iter(pending))
        del pending[each]
        if (operation := world.operations.get(each)) is not None:
            words = _without_dates(waiting_for(world, operation, now))
            found: list[Waiting] = [event for event in world.events_of(each) if event.phase.is_open]
            found.append(operation)
            yield from [one for one in found if self._told.get(one.id) != words]
        elif (rollout := world.rollouts.get(each)) is not None and rollout.state.is_open:
            words = _without_dates(rollout_waits_for(world, rollout, now, self._plane.health.answer))
            if self._told.get(each) != words:
                yield rollout


def _without_dates(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(_DATE.sub("", each) for each in words)
