"""What is done in a scenario, asked of the plane as operators and owners ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from forewarn.control.commands.events import approve_event, cancel_operation
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
from forewarn.scenario import faults
from forewarn.scenario.model import Act, Deed

_OWNERS = {
    Deed.RESTART: Cause.RESTART,
    Deed.REDEPLOY: Cause.REDEPLOY,
    Deed.STOP: Cause.STOP,
    Deed.START: Cause.START,
    Deed.DELETE: Cause.DELETE,
}
_USUAL_RECOVERY = RolloutWish(Kind.FREEZE).recovery
Said = Accepted | Committed | Refusal | str | None


def in_words(act: Act) -> str:
    """The act for a reader: `restart web-0`, `maintain host-0: Freeze`."""
    words = [act.do, act.fault, act.named_vm or act.host or act.scale_set]
    if act.do is Deed.SCALE:
        words.append(f"to {act.to}")
    more = f": {act.kind}" if act.kind else ""
    return " ".join(filter(None, words)) + more


@dataclass(frozen=True, slots=True)
class Hands:
    """Does what is asked. Called on the plane's thread."""

    plane: ControlPlane
    seed: int  # of faults that come by chance

    def do(self, act: Act) -> Refusal | None:
        """Do it, or say why it cannot be."""
        said = self._ask(act, act.who or "scenario")
        return said if isinstance(said, Refusal) else None

    def _ask(self, act: Act, who: str) -> Said:
        plane, vm = self.plane, act.vm or ""
        match act.do:
            case Deed.EVICT:
                return evict_vm(plane, vm, who)
            case Deed.SCALE:
                return self._scale(act, who)
            case Deed.ROLLOUT:
                return self._roll_out(act, who)
            case Deed.MAINTAIN | Deed.DEGRADE | Deed.FAIL | Deed.RECOVER:
                host = self._host(act)
                return host if isinstance(host, Refusal) else self._do_to_host(act, host, who)
            case Deed.APPROVE:
                return self._with_event(act, lambda event: approve_event(plane, event.id, who))
            case Deed.CANCEL:
                return self._with_event(act, lambda event: cancel_operation(plane, event.operation, who))
            case Deed.FAULT:
                return faults.put_in(plane, act, self.seed, who)
            case Deed.CLEAR:
                return faults.take_out(plane, act.fault, who)
            case _:
                return act_on_vm(plane, _OWNERS[act.do], vm, who)

    def _do_to_host(self, act: Act, host: str, who: str) -> Said:
        plane = self.plane
        match act.do:
            case Deed.MAINTAIN:
                asked = Maintenance(
                    act.kind or Kind.FREEZE,
                    by_live_migration=act.by_live_migration,
                    duration_seconds=act.duration_seconds,
                    notice=act.notice,
                    description=act.description,
                )
                return maintain_host(plane, host, asked, who)
            case Deed.DEGRADE:
                return degrade_host(plane, host, Degradation(act.notice, act.risk), who)
            case Deed.FAIL:
                return fail_host(plane, host, who, act.kind)
            case _:
                return recover_host(plane, host, who)

    def _host(self, act: Act) -> str | Refusal:
        """The host itself, or the one that the VM is on by now."""
        if act.host is not None:
            return act.host
        vm = self.plane.world.vms.get(act.vm or "")
        if vm is None:
            return Refusal(Code.NOT_FOUND, f"There is no VM {act.vm} any more, so it has no host.")
        return vm.host

    def _with_event(self, act: Act, ask: Callable[[Event], Committed | Refusal]) -> Committed | Refusal:
        found = [
            event
            for event in self.plane.world.events.values()
            if event.phase.is_open and act.vm in event.resources and act.kind in {None, event.kind}
        ]
        if not found:
            return Refusal(Code.NOT_FOUND, f"No event of {act.vm} is open; there is nothing to {act.do}.")
        return ask(max(found, key=lambda event: event.number))

    def _scale(self, act: Act, who: str) -> str | Refusal:
        plane = self.plane
        before = plane.world.sets[act.scale_set or ""]
        if not isinstance(before, ScaleSet):
            return Refusal(Code.NOT_FOUND, f"There is no scale set {act.scale_set}.")
        wish = ScaleSetWish(
            before.name,
            before.resource_group,
            capacity=act.to,
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

    def _roll_out(self, act: Act, who: str) -> str | Refusal:
        recovery: timedelta = _USUAL_RECOVERY if act.recovery is None else act.recovery
        wish = RolloutWish(
            act.kind or Kind.FREEZE,
            Selection(tuple(act.hosts)),
            by_live_migration=act.by_live_migration,
            duration_seconds=act.duration_seconds,
            notice=act.notice,
            recovery=recovery,
        )
        return start_rollout(self.plane, wish, who)
