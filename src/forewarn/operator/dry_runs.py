"""Dry runs over REST: what a request would do, answered by the rules that the request itself goes by."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

import msgspec

from forewarn.control.commit import CommandTarget
from forewarn.control.dry_run import DryRun
from forewarn.control.plane import ControlPlane
from forewarn.core.refusal import Refusal
from forewarn.operator.endpoint import Call
from forewarn.wire.rest import EventView, OperationView, event_view, operation_view


class DryRunResult(msgspec.Struct):
    """What a request would do. Nothing was changed; the ids of new operations and events are made up."""

    vms: Annotated[list[str], msgspec.Meta(description="the VMs that would be worked on")]
    operations: Annotated[list[OperationView], msgspec.Meta(description="that would be opened")]
    events: Annotated[list[EventView], msgspec.Meta(description="that would be announced")]
    changed_events: Annotated[
        list[EventView],
        msgspec.Meta(description="events of other operations that would be cancelled, moved or changed"),
    ]


async def dry_run(call: Call, act: Callable[[CommandTarget], object]) -> DryRunResult | Refusal:
    """Carry out the request on a copy of the world, and tell what came of it."""

    def run(plane: ControlPlane) -> DryRunResult | Refusal:
        trial = plane.dry_run()
        outcome = act(trial)
        return outcome if isinstance(outcome, Refusal) else result_of(trial, plane.clock.now())

    return await call.on_plane(run, call.context.plane)


def result_of(trial: DryRun, now: datetime) -> DryRunResult:
    """Return the result of a dry run."""
    opened, events = trial.operations, trial.events
    ids = {operation.id for operation in opened}
    return DryRunResult(
        vms=sorted({name for operation in opened for name in operation.targets}),
        operations=[
            operation_view(trial.world, each, [event.id for event in events if event.operation == each.id], now)
            for each in opened
        ],
        events=[event_view(trial.world, event, now) for event in events if event.operation in ids],
        changed_events=[event_view(trial.world, event, now) for event in events if event.operation not in ids],
    )
