"""Rollouts on their way: looked at when something of theirs has changed, and when time alone may matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from forewarn.control.health import HealthSource
from forewarn.control.timer_heap import TimerHeap
from forewarn.core.draft import Draft
from forewarn.core.fleet import Vm
from forewarn.core.notice import Limits
from forewarn.core.operation import Operation
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.rollout_course import look, move_on
from forewarn.core.world import Entity, World
from forewarn.errors import ForewarnError
from forewarn.logs import get_logger

log = get_logger()

_AFTER_A_BUG = timedelta(minutes=1)

Commit = Callable[[Callable[[Draft], None]], object]


@dataclass(frozen=True, slots=True)
class Moved:
    """What came of one look at the rollouts that were due."""

    looked_at: frozenset[str]
    bugs: int  # rollouts that could not go on


class RolloutScheduler:
    """Knows which rollouts are due, and lets them go on."""

    def __init__(
        self,
        world: World,
        limits: Limits,
        health: HealthSource,
        new_id: Callable[[], str],
    ) -> None:
        self._world = world
        self._limits = limits
        self._health = health
        self._new_id = new_id
        self._due: set[str] = set()
        self._waiting_for_vms: set[str] = set()  # those that may go on as soon as a VM comes up
        self._looks: TimerHeap[str, datetime] = TimerHeap()

    def note(self, entities: Iterable[Entity]) -> None:
        """Something was committed: look at the rollouts that it concerns."""
        for entity in entities:
            match entity:
                case Rollout():
                    self._due.add(entity.id)
                case Turn():
                    self._due.add(entity.rollout)
                case Operation() if entity.rollout is not None and not entity.phase.is_open:
                    host = entity.host or ""  # another rollout may have waited for it
                    self._due.update(each for each in self._world.rollouts if self._world.turn(each, host))
                case Vm():
                    self._due.update(self._waiting_for_vms)
                case _:
                    pass

    def all_are_due(self) -> None:
        """Nobody knows what has become of time, or of what was last decided."""
        self._due.update(self._world.rollouts)

    def move(self, now: datetime, commit: Commit) -> Moved:
        """Let those that are due go on, a commit each."""
        self._due.update(self._looks.take(now))
        if wanted := self._checks_wanted(now):
            self._health.ask(wanted)  # before a commit, which must not wait for anybody
        looked_at, bugs = frozenset(self._due), 0
        for rollout in sorted(self._due):
            try:
                commit(partial(self._write, rollout))
            except ForewarnError:
                raise
            except Exception:  # a bug in one of them is not the others' trouble
                bugs += 1
                log.exception("rollout could not be gone on with", rollout=rollout)
                self._put_off(rollout, now + _AFTER_A_BUG)
        return Moved(looked_at, bugs)

    def _checks_wanted(self, now: datetime) -> dict[str, datetime]:
        """The sets whose health those that are due depend on, and since when it counts."""
        wanted: dict[str, datetime] = {}
        for rollout in self._due & self._world.rollouts.keys():
            with suppress(Exception):  # a bug is logged when the rollout goes on
                checks = look(self._world, self._world.rollouts[rollout], now, self._health.answer).checks
                wanted.update({name: max(since, wanted.get(name, since)) for name, since in checks.items()})
        return wanted

    def _write(self, rollout: str, draft: Draft) -> None:
        known = self._world.rollouts.get(rollout)
        if known is None:
            self._put_off(rollout, None)
            return
        found = look(self._world, known, draft.now, self._health.answer)
        self._put_off(rollout, found.look_again)  # what is written here makes it due again
        if found.waits_for_vms:
            self._waiting_for_vms.add(rollout)
        move_on(draft, known, found, self._limits, self._new_id)

    def _put_off(self, rollout: str, until: datetime | None) -> None:
        self._due.discard(rollout)
        self._waiting_for_vms.discard(rollout)
        self._looks.set(rollout, until)

    @property
    def are_due(self) -> bool:
        """Whether some want to be looked at now."""
        return bool(self._due)

    def next(self) -> datetime | None:
        """When the next one wants to be looked at."""
        return self._looks.next()
