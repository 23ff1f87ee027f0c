"""Rollouts of a simulated day: begun, paused, resumed and aborted by operators, and held by sets that are sick."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from forewarn.control.commands.rollouts import abort_rollout, pause_rollout, resume_rollout, start_rollout
from forewarn.control.commit import Committed
from forewarn.control.plane import ControlPlane
from forewarn.core.operation import Operation
from forewarn.core.phase import Phase
from forewarn.core.refusal import Refusal
from forewarn.core.requests.rollouts import RolloutWish
from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState
from forewarn.core.rollout_course import look
from forewarn.core.rollout_plan import Selection
from forewarn.core.terms import Cause, Kind
from forewarn.core.window import Window
from forewarn.core.world import Changes
from tests.simulation.witness import Asked

if TYPE_CHECKING:
    from tests.simulation.run import Simulation

WHO = "somebody"
_SICKENING = 0.2


class RolloutDesk:
    """Asks for rollouts, and knows which sets are sick."""

    def __init__(self, simulation: Simulation, dice: random.Random) -> None:
        self._simulation = simulation
        self._dice = dice
        self._sick: dict[str, str] = {}
        self._is_over = False

    def plan(self, length: timedelta) -> None:
        """Some rollouts, and people who change their minds about them."""
        for _ in range(self._dice.randint(0, 4)):
            at = self._dice.uniform(0, 0.9) * length
            self._simulation.after(at, self.begin)
            for act in (self.pause, self.resume, self.resume, self.abort):
                if self._dice.random() < 0.3:
                    self._simulation.after(at + timedelta(minutes=self._dice.uniform(0, 180)), act)

    # What the owners' checks say.

    def ask(self, wanted: Mapping[str, datetime]) -> None:
        """They have answered before they are asked."""

    def answer(self, set_name: str, _since: datetime) -> str | None:
        """Whether the set is well."""
        return self._sick.get(set_name)

    def _maybe_sicken(self, turn: Turn) -> None:
        """A set that was worked on does not come up well, for a while."""
        if self._is_over or not turn.domains or self._dice.random() > _SICKENING:
            return
        name = turn.domains[0].rpartition("#")[0]
        self._sick[name] = f"the health check of {name} answered 503"
        self._simulation.after(timedelta(minutes=self._dice.uniform(5, 120)), lambda: self._sick.pop(name, None))

    def be_well(self) -> None:
        """All is well from now on, and nobody keeps a rollout waiting."""
        self._is_over = True
        self._sick.clear()
        world, now = self._simulation.world, self._simulation.clock.now()
        for rollout in list(world.rollouts.values()):
            is_short = look(world, rollout, now, self.answer).waits_for_vms and not world.operations
            if rollout.state is RolloutState.PAUSED or rollout.work.window is not None or is_short:
                self._request(lambda plane, each=rollout: abort_rollout(plane, each.id, "", WHO))

    # What operators ask for.

    def begin(self) -> None:
        """A rollout over some hosts or all of them."""
        outcome = self._simulation.request(lambda plane: start_rollout(plane, self._wish(), WHO))
        if isinstance(outcome, str):
            self._simulation.promises.has_state(outcome, set(RolloutState))
            self._simulation.counts["rollout begun"] += 1
            if len(self._simulation.world.rollouts) > 1:
                self._simulation.counts["several rollouts at once"] += 1
        elif isinstance(outcome, Refusal):
            self._simulation.counts[f"refused: {outcome.code}"] += 1

    def _wish(self) -> RolloutWish:
        dice, hosts = self._dice, list(self._simulation.world.hosts)
        picked = tuple(dice.sample(hosts, k=dice.randint(1, len(hosts)))) if dice.random() < 0.4 else ()
        window = None
        if dice.random() < 0.2:
            window = Window(time(dice.randrange(24)), timedelta(hours=dice.randint(1, 20)))
        soon = self._simulation.clock.now() + timedelta(hours=dice.uniform(0.1, 6))
        return RolloutWish(
            dice.choice([Kind.FREEZE, Kind.REBOOT, Kind.REBOOT, Kind.REDEPLOY]),
            Selection(picked),
            max_parallel=dice.choice([1, 2, 3, 10]),
            max_parallel_per_zone=dice.choice([None, None, 1]),
            recovery=timedelta(minutes=dice.choice([0, 5, 30])),
            soak=timedelta(minutes=dice.choice([0, 0, 10])),
            health_wait=timedelta(minutes=dice.choice([2, 10])),
            max_failures=dice.choice([0, 1, 10]),
            max_unhealthy_percent=dice.choice([0, 50, 100]),
            window=window,
            force_by=soon if dice.random() < 0.2 else None,
        )

    def pause(self) -> None:
        """Somebody wants it to stop for now."""
        if (rollout := self._some(RolloutState.RUNNING)) is not None:
            states = set(RolloutState) - {RolloutState.RUNNING}
            self._change(rollout, "pause", states, lambda plane: pause_rollout(plane, rollout, "", WHO))

    def resume(self) -> None:
        """Somebody wants it to go on."""
        if (rollout := self._some(RolloutState.PAUSED)) is not None:
            is_forced = self._dice.random() < 0.5
            self._change(
                rollout,
                "resume",
                set(RolloutState),
                lambda plane: resume_rollout(plane, rollout, WHO, anyway=is_forced),
            )

    def abort(self) -> None:
        """Somebody wants it to stop for good."""
        if (rollout := self._some(RolloutState.RUNNING, RolloutState.PAUSED)) is not None:
            if self._simulation.world.book_of(rollout).open:
                self._simulation.counts["rollout aborted with work open"] += 1
            self._change(
                rollout,
                "abort",
                {RolloutState.ABORTED},
                lambda plane: abort_rollout(plane, rollout, "", WHO),
            )

    def _some(self, *states: RolloutState) -> str | None:
        found = [each.id for each in self._simulation.world.rollouts.values() if each.state in states]
        return self._dice.choice(found) if found else None

    def _change(
        self, rollout: str, verb: str, then: set[RolloutState], act: Callable[[ControlPlane], object]
    ) -> None:
        before = self._simulation.promises.unsettle("rollout", rollout)
        outcome = self._request(act)
        if isinstance(outcome, Committed):
            self._simulation.promises.has_state(rollout, then)
            self._simulation.counts[f"rollout: {verb}"] += 1
        elif isinstance(outcome, Refusal):
            self._simulation.promises.settle_again("rollout", rollout, promise=before)

    def _request(self, act: Callable[[ControlPlane], object]) -> object:
        return self._simulation.request(act)

    # What is seen of them.

    def is_forced(self, operation: str) -> bool:
        """Whether the operation belongs to a rollout whose work has to be done by now."""
        found = self._simulation.world.operations.get(operation)
        rollout = self._simulation.world.rollouts.get(found.rollout or "") if found else None
        if rollout is None or not rollout.work.is_forced(self._simulation.clock.now()):
            return False
        self._simulation.counts["forced whatever the minimum"] += 1
        return True

    def note_operations(self, operations: set[str]) -> None:
        """Events are about to be shown: what a rollout asked for, and what was known then."""
        world, asked = self._simulation.world, self._simulation.witness.asked
        for each in operations - asked.keys():
            found = world.operations[each]
            vms = [vm for name in found.targets if (vm := world.vms.get(name)) is not None]
            scopes = {vm.scope: self._simulation.outside.is_on(vm.scope) for vm in vms}
            asked[each] = Asked(each, Cause.MAINTAIN, found.targets, scopes, had_profile=False, host=found.host)

    def saw_commit(self, changes: Changes) -> None:
        """Count the hard things."""
        counts = self._simulation.counts
        for entity in changes.entities:
            match entity:
                case Rollout(state=RolloutState.PAUSED):
                    if "hosts failed" in entity.reason or "host failed" in entity.reason:
                        counts["rollout paused itself after a failure"] += 1
                    elif "unhealthy" in entity.reason:
                        counts["rollout paused itself for health"] += 1
                case Rollout(state=RolloutState.COMPLETED):
                    counts["rollout completed"] += 1
                case Turn(state=TurnState.DONE):
                    self._maybe_sicken(entity)
                case Turn(state=TurnState.SKIPPED) if "has failed" in entity.reason:
                    counts["host failed before its turn was over"] += 1
                case Operation(phase=Phase.COMPLETED, targets=()) if (
                    entity.rollout and entity.duration_seconds < 0
                ):
                    counts["turn without anybody left"] += 1
                case _:
                    pass

    def look_around(self) -> None:
        """Count what rollouts wait for now."""
        world, now = self._simulation.world, self._simulation.clock.now()
        for rollout in world.rollouts.values():
            for wait in look(world, rollout, now, self.answer).waits:
                for words, name in (
                    ("to be healthy", "wave held by health"),
                    ("to recover", "wave held by recovery"),
                    ("the window", "wave held by its window"),
                    ("another rollout", "host held by another rollout"),
                ):
                    if words in wait.words:
                        self._simulation.counts[name] += 1
