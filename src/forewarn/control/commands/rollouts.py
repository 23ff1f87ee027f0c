"""Commands on rollouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from forewarn.control.commit import CommandTarget, Committed
from forewarn.core.refusal import Refusal
from forewarn.core.requests import rollouts
from forewarn.core.requests.rollouts import Plan, RolloutWish


def preview_rollout(plane: CommandTarget, wish: RolloutWish) -> Callable[[], Plan | Refusal]:
    """What tells, on any thread, what a rollout would do and when: it may take seconds. Nothing is changed."""
    return partial(rollouts.plan_rollout, plane.world.fleet(), wish, plane.clock.now(), plane.limits)


def refuse_repeated_rollout(plane: CommandTarget, plan: Plan) -> Refusal | None:
    """Refuse a planned rollout that is open already."""
    return rollouts.is_open_already(plane.world, plan)


def start_rollout(plane: CommandTarget, wish: RolloutWish, actor: str) -> str | Refusal:
    """Begin a rollout; its id."""
    rollout = plane.new_id()
    write = partial(rollouts.start_rollout, wish=wish, rollout=rollout, limits=plane.limits)
    outcome = plane.commit(actor, write)
    return outcome if isinstance(outcome, Refusal) else rollout


def pause_rollout(plane: CommandTarget, rollout: str, reason: str, actor: str) -> Committed | Refusal:
    """Begin nothing more for now, and cancel what is only announced."""
    return plane.commit(actor, lambda draft: rollouts.pause(draft, rollout, reason))


def resume_rollout(plane: CommandTarget, rollout: str, actor: str, *, anyway: bool = False) -> Committed | Refusal:
    """Go on where it was paused."""
    return plane.commit(actor, lambda draft: rollouts.resume(draft, rollout, anyway=anyway))


def abort_rollout(plane: CommandTarget, rollout: str, reason: str, actor: str) -> Committed | Refusal:
    """End it for good."""
    return plane.commit(actor, lambda draft: rollouts.abort(draft, rollout, reason))
