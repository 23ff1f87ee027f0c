"""The actions of a scenario: each becomes the request that an operator or owner would send to the plane."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from forewarn.control.commands.events import approve_event, cancel_operation
from forewarn.control.commands.faults import add_fault, clear_faults
from forewarn.control.commands.fleet import put_scale_set
from forewarn.control.commands.hosts import degrade_host, fail_host, maintain_host, recover_host
from forewarn.control.commands.rollouts import start_rollout
from forewarn.control.commands.vms import act_on_vm, evict_vm
from forewarn.control.commit import Accepted, Committed
from forewarn.control.plane import ControlPlane
from forewarn.core.event import Event
from forewarn.core.fleet import ScaleSet
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.degraded import Degradation
from forewarn.core.requests.hosts import Maintenance
from forewarn.core.requests.rollouts import RolloutWish
from forewarn.core.requests.sets import ScaleSetWish, has_one_group
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
Answer = Accepted | Committed | Refusal | str | None
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

    def _request(self, action: TimedAction, who: str) -> Answer:
        plane, vm = self.plane, action.vm or ""
        match action.do:
            case ActionKind.EVICT:
                return evict_vm(plane, vm, who)
            case ActionKind.SCALE:
                return self._scale(action, who)
            case ActionKind.ROLLOUT:
                return self._roll_out(action, who)
            case ActionKind.MAINTAIN | ActionKind.DEGRADE | ActionKind.FAIL | ActionKind.RECOVER:
                host = self._host(action)
                return host if isinstance(host, Refusal) else self._request_on_host(action, host, who)
            case ActionKind.APPROVE:
                return self._with_event(action, lambda event: approve_event(plane, event.id, who))
            case ActionKind.CANCEL:
                return self._with_event(action, lambda event: cancel_operation(plane, event.operation, who))
            case ActionKind.FAULT:
                return self._add_fault(action, who)
            case ActionKind.CLEAR:
                return self._clear_faults(action.fault, who)
            case _:
                return act_on_vm(plane, _CAUSES[action.do], vm, who)

    def _request_on_host(self, action: TimedAction, host: str, who: str) -> Answer:
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
                return maintain_host(plane, host, asked, who)
            case ActionKind.DEGRADE:
                return degrade_host(plane, host, Degradation(action.notice, action.risk), who)
            case ActionKind.FAIL:
                return fail_host(plane, host, who, action.kind)
            case _:
                return recover_host(plane, host, who)

    def _host(self, action: TimedAction) -> str | Refusal:
        """The named host, or the current host of the named VM."""
        if action.host is not None:
            return action.host
        vm = self.plane.world.vms.get(action.vm or "")
        if vm is None:
            return Refusal(Code.NOT_FOUND, f"VM {action.vm} does not exist now, so it has no host.")
        return vm.host

    def _with_event(self, action: TimedAction, ask: Callable[[Event], Answer]) -> Answer:
        found = [
            event
            for event in self.plane.world.events.values()
            if event.phase.is_open and action.vm in event.resources and action.kind in {None, event.kind}
        ]
        if not found:
            return Refusal(Code.NOT_FOUND, f"{action.vm} has no open event to {action.do}.")
        return ask(max(found, key=lambda event: event.number))

    def _scale(self, action: TimedAction, who: str) -> str | Refusal:
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
        return put_scale_set(plane, wish, who)

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
        return start_rollout(self.plane, wish, who)

    def _add_fault(self, action: TimedAction, who: str) -> Refusal | None:
        rule = action.fault_rule(self.seed)
        if isinstance(rule, Refusal):
            return rule
        outcome = add_fault(self.plane, rule, who)
        return outcome if isinstance(outcome, Refusal) else None

    def _clear_faults(self, name: str | None, who: str) -> Refusal | None:
        """Clear the faults of that name; without one, all faults."""
        for posted in [] if self.plane.faults is None else self.plane.faults.all:
            if name in {None, posted.rule.name}:
                outcome = clear_faults(self.plane, posted.id, who)
                if isinstance(outcome, Refusal):
                    return outcome
        return None
