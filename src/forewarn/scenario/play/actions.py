"""The actions of a scenario: each becomes the request that an operator or owner would send to the plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from forewarn.control.plane import ControlPlane
from forewarn.control.requests import Accepted
from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fleet import ScaleSet
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.requests.rollouts import RolloutWish
from forewarn.core.requests.sets import ScaleSetWish, has_one_group, put_scale_set
from forewarn.core.rollout_plan import Selection
from forewarn.core.terms import Cause, Kind
from forewarn.scenario.file.model import ActionKind, TimedAction

_CAUSES = {
    ActionKind.RESTART: Cause.RESTART,
    ActionKind.REDEPLOY: Cause.REDEPLOY,
    ActionKind.STOP: Cause.STOP,
    ActionKind.START: Cause.START,
    ActionKind.DELETE: Cause.DELETE,
}
_DEFAULT_RECOVERY = RolloutWish(Kind.FREEZE).recovery


def in_words(action: TimedAction) -> str:
    """The action for a reader: `restart web-0`, `maintain host-0: Freeze`."""
    words = [action.do, action.fault, action.named_vm or action.host or action.scale_set]
    if action.do is ActionKind.SCALE:
        words.append(f"to {action.to}")
    more = f": {action.kind}" if action.kind else ""
    return " ".join(filter(None, words)) + more


@dataclass(frozen=True, slots=True)
class ActionRunner:
    """Sends actions to the plane. Called on the plane's thread."""

    plane: ControlPlane
    seed: int  # of faults by chance

    def run(self, action: TimedAction) -> Refusal | None:
        """Carry out the action, or return why the plane refuses it."""
        answer = self._request(action, action.who or "scenario")
        return answer if isinstance(answer, Refusal) else None

    def _request(self, action: TimedAction, who: str) -> Accepted | Refusal | str | None:
        plane, vm = self.plane, action.vm or ""
        match action.do:
            case ActionKind.EVICT:
                return plane.evict(vm, who)
            case ActionKind.SCALE:
                return self._scale(action, who)
            case ActionKind.ROLLOUT:
                return self._roll_out(action, who)
            case ActionKind.MAINTAIN | ActionKind.DEGRADE | ActionKind.FAIL | ActionKind.RECOVER:
                host = self._host(action)
                return host if isinstance(host, Refusal) else self._request_on_host(action, host, who)
            case ActionKind.APPROVE:
                return self._with_event(action, lambda event: plane.approve(event.id, who))
            case ActionKind.CANCEL:
                return self._with_event(action, lambda event: plane.cancel(event.operation, who))
            case ActionKind.FAULT:
                return self._add_fault(action, who)
            case ActionKind.CLEAR:
                return self._clear_faults(action.fault, who)
            case _:
                return plane.ask_for_vm(_CAUSES[action.do], vm, who)

    def _request_on_host(self, action: TimedAction, host: str, who: str) -> Accepted | Refusal | str | None:
        plane = self.plane
        match action.do:
            case ActionKind.MAINTAIN:
                asked = Maintenance(
                    action.kind or Kind.FREEZE,
                    by_live_migration=action.by_live_migration,
                    duration_seconds=action.duration_seconds,
                    notice=action.notice,
                    description=action.description,
                )
                return plane.maintain(host, asked, who)
            case ActionKind.DEGRADE:
                return plane.degrade(host, Degradation(action.notice, action.risk), who)
            case ActionKind.FAIL:
                return plane.fail(host, who, action.kind)
            case _:
                return plane.recover(host, who)

    def _host(self, action: TimedAction) -> str | Refusal:
        """The named host, or the current host of the named VM."""
        if action.host is not None:
            return action.host
        vm = self.plane.world.vms.get(action.vm or "")
        if vm is None:
            return Refusal(Code.NOT_FOUND, f"VM {action.vm} does not exist now, so it has no host.")
        return vm.host

    def _with_event(self, action: TimedAction, ask: Callable[[Event], Refusal | None]) -> Refusal | None:
        found = [
            event
            for event in self.plane.world.events.values()
            if event.phase.is_open and action.vm in event.resources and action.kind in {None, event.kind}
        ]
        if not found:
            return Refusal(Code.NOT_FOUND, f"{action.vm} has no open event to {action.do}.")
        return ask(max(found, key=lambda event: event.number))

    def _scale(self, action: TimedAction, who: str) -> Refusal | None:
        plane = self.plane
        before = plane.world.sets[action.scale_set or ""]
        if not isinstance(before, ScaleSet):
            return Refusal(Code.NOT_FOUND, f"There is no scale set {action.scale_set}.")
        wish = ScaleSetWish(
            before.name,
            before.resource_group,
            capacity=action.to,
            zones=before.zones,
            priority=before.priority,
            eviction_policy=before.eviction_policy,
            terminate_notification=before.terminate_notification,
            announces_reimage=before.announces_reimage,
            single_placement_group=has_one_group(before),
            auto_approve=before.auto_approve,
            tags=before.tags,
            kept=before.kept,
        )
        batch = plane.workshop.new_id()

        def write(draft: Draft) -> Refusal | None:
            return put_scale_set(draft, wish, plane.workshop, batch)

        return plane.change(who, write)

    def _roll_out(self, action: TimedAction, who: str) -> str | Refusal:
        recovery: timedelta = _DEFAULT_RECOVERY if action.recovery is None else action.recovery
        wish = RolloutWish(
            action.kind or Kind.FREEZE,
            Selection(tuple(action.hosts)),
            by_live_migration=action.by_live_migration,
            duration_seconds=action.duration_seconds,
            notice=action.notice,
            recovery=recovery,
        )
        return self.plane.start_rollout(wish, who)

    def _add_fault(self, action: TimedAction, who: str) -> Refusal | None:
        rule = action.fault_rule(self.seed)
        if isinstance(rule, Refusal):
            return rule
        outcome = self.plane.add_fault(rule, who)
        return outcome if isinstance(outcome, Refusal) else None

    def _clear_faults(self, name: str | None, who: str) -> Refusal | None:
        """Clear the faults of that name; without one, all faults."""
        for posted in [] if self.plane.faults is None else self.plane.faults.all:
            if name in {None, posted.rule.name}:
                outcome = self.plane.clear_faults(posted.id, who)
                if isinstance(outcome, Refusal):
                    return outcome
        return None
