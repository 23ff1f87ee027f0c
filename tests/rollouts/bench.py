"""A workbench with a rollout on it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from forewarn.control.commands.rollouts import (
    abort_rollout,
    pause_rollout,
    preview_rollout,
    resume_rollout,
    start_rollout,
)
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.rollouts import Plan, RolloutWish
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.rollout_course import waiting_for
from forewarn.core.rollout_plan import Selection
from forewarn.core.terms import Kind
from forewarn.store.codec import Codec
from forewarn.store.tables import operations, rollouts, turns
from tests.control.bench import Bench

_ROLLOUTS, _TURNS, _OPERATIONS = Codec(Rollout), Codec(Turn), Codec(Operation)


def grid(sets: int = 1, domains: int = 3, hosts_per_domain: int = 1, **more: Any) -> dict[str, Any]:
    """Sets whose update domains are on hosts of their own: `host-0-1` is the second of update domain 0."""
    names = [f"host-{domain}-{n}" for domain in range(domains) for n in range(hosts_per_domain)]
    return {
        "hosts": [{"name": name, **more} for name in names],
        "availability_sets": [{"name": f"set{number}"} for number in range(sets)],
        "vms": [
            {
                "name": f"vm{number}-{name[5:]}",
                "host": name,
                "availability_set": f"set{number}",
                "update_domain": int(name.split("-")[1]),
            }
            for number in range(sets)
            for name in names
        ],
    }


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


class RolloutBench(Bench):
    """A plane that rolls out."""

    def wish(self, kind: Kind = Kind.FREEZE, **more: Any) -> RolloutWish:
        picks = {key: more.pop(key) for key in ("hosts", "zones", "tags") if key in more}
        return RolloutWish(kind, Selection(**picks), **more)

    def preview(self, kind: Kind = Kind.FREEZE, **more: Any) -> Plan:
        plan = preview_rollout(self.plane, self.wish(kind, **more))()
        assert isinstance(plan, Plan), plan
        return plan

    def refused(self, kind: Kind = Kind.FREEZE, **more: Any) -> Refusal:
        """Both a preview and a start refuse, in the same words, and nothing is changed."""
        number = self.plane.world.number
        said = preview_rollout(self.plane, self.wish(kind, **more))()
        assert isinstance(said, Refusal), said
        assert start_rollout(self.plane, self.wish(kind, **more), "operator") == said
        assert self.plane.world.number == number
        return said

    def roll(self, kind: Kind = Kind.FREEZE, **more: Any) -> str:
        rollout = start_rollout(self.plane, self.wish(kind, **more), "operator")
        assert isinstance(rollout, str), rollout
        self.plane.tick()
        return rollout

    def pause(self, rollout: str) -> None:
        assert not isinstance(pause_rollout(self.plane, rollout, "", "operator"), Refusal)
        self.plane.tick()

    def resume(self, rollout: str, *, anyway: bool = False) -> None:
        assert not isinstance(resume_rollout(self.plane, rollout, "operator", anyway=anyway), Refusal)
        self.plane.tick()

    def abort(self, rollout: str) -> None:
        assert not isinstance(abort_rollout(self.plane, rollout, "", "operator"), Refusal)
        self.plane.tick()

    def rollout(self, rollout: str) -> Rollout:
        """The rollout as it is kept."""
        (row,) = self._rows(sa.select(rollouts).where(rollouts.c.id == rollout))
        return _ROLLOUTS.decode(row)

    def turns(self, rollout: str) -> dict[str, Turn]:
        """Its turns as they are kept, by host, in their order."""
        query = sa.select(turns).where(turns.c.rollout == rollout).order_by(turns.c.position)
        return {row.host: _TURNS.decode(row) for row in self._rows(query)}

    def states(self, rollout: str) -> dict[str, str]:
        return {host: str(turn.state) for host, turn in self.turns(rollout).items()}

    def waits(self, rollout: str) -> list[str]:
        found = self.plane.world.rollouts[rollout]
        return waiting_for(self.plane.world, found, self.clock.now(), self.plane.health.answer)

    def operations_of(self, rollout: str) -> list[Operation]:
        """All operations that it ever made, in the order of their beginnings."""
        query = sa.select(operations).where(operations.c.rollout == rollout).order_by(operations.c.created_at)
        return [_OPERATIONS.decode(row) for row in self._rows(query)]

    def started(self, rollout: str) -> Mapping[str, datetime]:
        """By host, when its work started."""
        return {
            each.host or "": each.started_at for each in self.operations_of(rollout) if each.started_at is not None
        }

    def ended(self, rollout: str) -> Mapping[str, datetime]:
        return {
            each.host or "": each.ended_at
            for each in self.operations_of(rollout)
            if each.ended_at is not None and each.phase is not Phase.CANCELLED
        }

    def run(self, rollout: str, *, most: timedelta = timedelta(days=30)) -> Rollout:
        """Let time pass until the rollout is over or stops by itself."""
        until = self.clock.now() + most
        while rollout in self.plane.world.rollouts and self.plane.world.rollouts[rollout].state == "Running":
            wake = self.plane.next_wake()
            assert wake is not None, self.waits(rollout)
            assert wake <= until, self.waits(rollout)
            self.timekeeper.advance(max(wake - self.clock.now(), timedelta(0)))
        return self.rollout(rollout)

    def _rows(self, query: sa.Select[Any]) -> list[Any]:
        with self.store.transaction() as transaction:
            return list(transaction.connection.execute(query))
