"""Rollouts: preview, start, follow, pause, resume, abort."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import msgspec
import sqlalchemy as sa
from starlette.responses import Response

from forewarn.control.commands.rollouts import (
    abort_rollout,
    pause_rollout,
    preview_rollout,
    refuse_repeated_rollout,
    resume_rollout,
    start_rollout,
)
from forewarn.control.commit import CommandTarget, Committed
from forewarn.control.plane import ControlPlane
from forewarn.core.refusal import Code, Refusal
from forewarn.core.requests.rollouts import RolloutWish, has_ended
from forewarn.core.rollout import Rollout, RolloutState, TurnState
from forewarn.core.rollout_course import waiting_for
from forewarn.operator.dry_runs import DryRunResult, result_of
from forewarn.operator.endpoint import (
    Call,
    Endpoint,
    Handler,
    Nothing,
    PageQuery,
    bad_cursor,
    bad_request,
    whole_number,
)
from forewarn.operator.fleet import PAGE
from forewarn.operator.refusals import TroubleCode, refuse
from forewarn.operator.roles import Role
from forewarn.store import rollouts
from forewarn.wire.rest import ONE_LINE
from forewarn.wire.rollouts import (
    PreviewView,
    RolloutBody,
    RolloutView,
    TurnView,
    preview_view,
    read_wish,
    rollout_view,
    turn_view,
)

_OPEN = (RolloutState.RUNNING, RolloutState.PAUSED)
_Reason = Annotated[
    str, msgspec.Meta(max_length=1000, pattern=ONE_LINE, description="for the audit, and for whoever waits")
]


class RolloutList(msgspec.Struct):
    """A page of rollouts, newest first."""

    rollouts: list[RolloutView]
    next: str | None = None


class TurnList(msgspec.Struct):
    """A page of a rollout's hosts, in the order of their turns."""

    hosts: list[TurnView]
    next: str | None = None


class StopRolloutBody(msgspec.Struct, forbid_unknown_fields=True):
    """Why it is stopped."""

    reason: _Reason = ""


class ResumeBody(msgspec.Struct, forbid_unknown_fields=True):
    """How it goes on."""

    anyway: Annotated[bool, msgspec.Meta(description="whatever the health of the last wave")] = False


class RolloutDryRunResult(DryRunResult):
    """What pausing, resuming or aborting a rollout would do, and the rollout as it would be."""

    rollout: RolloutView


def find_rollout(plane: CommandTarget, name: str) -> Rollout | Refusal:
    """The rollout of that id, or of an unambiguous beginning of it."""
    if found := plane.world.rollouts.get(name.lower()):
        return found
    with plane.store.transaction() as transaction:
        found_there = rollouts.find_rollouts(transaction.connection, name) if name else []
    if not found_there:
        return Refusal(Code.NOT_FOUND, f"There is no rollout {name}.", "forewarn rollout list")
    if len(found_there) > 1:
        ids = ", ".join(each.short_id for each in found_there)
        return Refusal(Code.AMBIGUOUS, f"{name} is the beginning of several rollouts: {ids}.", "Write more of it.")
    return plane.world.rollouts.get(found_there[0].id, found_there[0])


def view_of(plane: CommandTarget, rollout: Rollout) -> RolloutView:
    """A rollout as it is now, open or ended."""
    if rollout.id in plane.world.rollouts:
        book = plane.world.book_of(rollout.id)
        waits = waiting_for(plane.world, rollout, plane.clock.now(), plane.health.answer)
        return rollout_view(rollout, book.counts, wave=book.wave, hosts_open=list(book.open), waiting_for=waits)
    with plane.store.transaction() as transaction:
        counts = rollouts.count_turns(transaction.connection, [rollout.id])
    return rollout_view(rollout, counts[rollout.id])


async def preview(call: Call, body: RolloutBody) -> PreviewView | Refusal | Response:
    """The whole plan, before anything is scheduled."""
    wish = read_wish(body)
    return wish if isinstance(wish, Refusal) else await _preview(call, wish)


async def _preview(call: Call, wish: RolloutWish) -> PreviewView | Refusal | Response:
    """The plan of a rollout. The plane only hands over its fleet, and goes on."""
    if call.context.previews.is_full:
        return refuse(
            TroubleCode.TOO_MANY_PREVIEWS,
            "The preview is not made: it is done one at a time, and too many wait already.",
            "Try again in a minute.",
        )
    async with call.context.previews.turn():
        make_plan = await call.on_plane(preview_rollout, call.context.plane, wish)
        plan = await call.aside(make_plan)
        if isinstance(plan, Refusal):
            return plan
        if call.is_dry_run and (refusal := await call.on_plane(refuse_repeated_rollout, call.context.plane, plan)):
            return refusal
        return await call.aside(preview_view, plan)


async def start(call: Call, body: RolloutBody) -> RolloutView | Refusal | Response:
    """Begin a rollout; as a dry run, its preview."""
    wish = read_wish(body)
    if isinstance(wish, Refusal):
        return wish
    if call.is_dry_run:
        plan = await _preview(call, wish)
        if not isinstance(plan, PreviewView):
            return plan
        return Response(await call.aside(msgspec.json.encode, plan), media_type="application/json")

    return await call.change(lambda plane: start_rollout(plane, wish, call.actor), _view)


def _view(plane: ControlPlane, name: str) -> RolloutView | Refusal:
    found = find_rollout(plane, name)
    return found if isinstance(found, Refusal) else view_of(plane, found)


async def show(call: Call, _: Nothing) -> RolloutView | Refusal:
    """One rollout, and what it waits for."""
    return await call.on_plane(_view, call.context.plane, call.path("id"))


async def list_all(call: Call, _: Nothing) -> RolloutList | Refusal:
    """Rollouts, newest first."""
    page = call.page()
    if isinstance(page, Refusal):
        return page
    states = _states(call.query("state"))
    if isinstance(states, Refusal):
        return states
    found = await call.in_store(partial(_read_page, states=states, page=page))
    if found is None:
        return bad_cursor(page.after)

    def view(plane: ControlPlane) -> RolloutList:
        open_now = plane.world.rollouts
        views = [
            rollout_view(each, counts)
            if counts is not None and each.id not in open_now
            else view_of(plane, open_now.get(each.id, each))
            for each, counts in found[: page.limit]
        ]
        return RolloutList(views, found[page.limit - 1][0].id if len(found) > page.limit else None)

    return await call.on_plane(view, call.context.plane)


_Listed = tuple[Rollout, dict[TurnState, int] | None]  # how far it got, once it has ended


def _read_page(connection: sa.Connection, *, states: list[RolloutState], page: PageQuery) -> list[_Listed] | None:
    found = rollouts.list_rollouts(connection, states=states, after=page.after, limit=page.limit + 1)
    if found is None:
        return None
    counts = rollouts.count_turns(connection, [each.id for each in found if not each.state.is_open])
    return [(each, counts.get(each.id)) for each in found]


def _states(text: str | None) -> list[RolloutState] | Refusal:
    if text is None or text == "all":
        return list(RolloutState)
    if text == "open":
        return list(_OPEN)
    try:
        return [RolloutState(text.capitalize())]
    except ValueError:
        known = ", ".join(state.value for state in RolloutState)
        return bad_request(f"{text!r} is no state of a rollout.", f"It can be {known}, open or all.")


async def list_hosts(call: Call, _: Nothing) -> TurnList | Refusal:
    """The hosts of a rollout, in the order of their turns."""
    page = call.page()
    if isinstance(page, Refusal):
        return page
    after = -1 if page.after is None else whole_number(page.after)
    if after is None:
        return bad_cursor(page.after)
    rollout = await call.on_plane(find_rollout, call.context.plane, call.path("id"))
    if isinstance(rollout, Refusal):
        return rollout
    found = await call.in_store(
        lambda connection: rollouts.list_turns(connection, rollout.id, after=after, limit=page.limit + 1)
    )
    following = str(found[page.limit - 1].position) if len(found) > page.limit else None
    return TurnList([turn_view(each) for each in found[: page.limit]], following)


async def _change(
    call: Call, participle: str, change: Callable[[CommandTarget, Rollout], Committed | Refusal]
) -> RolloutView | RolloutDryRunResult | Refusal:
    def write(plane: CommandTarget) -> str | Refusal:
        found = find_rollout(plane, call.path("id"))
        if isinstance(found, Refusal):
            return found
        outcome = change(plane, found) if found.state.is_open else has_ended(found, participle)
        return outcome if isinstance(outcome, Refusal) else found.id

    def dry_run(plane: ControlPlane) -> RolloutDryRunResult | Refusal:
        trial = plane.dry_run()
        outcome = write(trial)
        if isinstance(outcome, Refusal):
            return outcome
        seen, (rollout,) = result_of(trial, plane.clock.now()), trial.rollouts
        return RolloutDryRunResult(**msgspec.structs.asdict(seen), rollout=view_of(trial, rollout))

    if call.is_dry_run:
        return await call.on_plane(dry_run, call.context.plane)
    return await call.change(write, _view)


async def pause(call: Call, body: StopRolloutBody) -> RolloutView | RolloutDryRunResult | Refusal:
    """Call off what is announced, let what has started finish."""
    return await _change(
        call, "paused", lambda plane, found: pause_rollout(plane, found.id, body.reason, call.actor)
    )


async def resume(call: Call, body: ResumeBody) -> RolloutView | RolloutDryRunResult | Refusal:
    """Go on: new announcements, full notice."""
    return await _change(
        call, "resumed", lambda plane, found: resume_rollout(plane, found.id, call.actor, anyway=body.anyway)
    )


async def abort(call: Call, body: StopRolloutBody) -> RolloutView | RolloutDryRunResult | Refusal:
    """As a pause, and for good."""
    return await _change(
        call, "aborted", lambda plane, found: abort_rollout(plane, found.id, body.reason, call.actor)
    )


def _change_endpoint(verb: str, handle: Handler, summary: str, body: type) -> Endpoint:
    path = f"/v1/rollouts/{{id}}/{verb}"
    return Endpoint("POST", path, handle, summary, RolloutView, body=body, dry_answer=RolloutDryRunResult)


_STATE = {"state": "Running, Paused, Completed, Aborted, Failed, open or all (which is what you get without it)"}

ENDPOINTS = [
    Endpoint("GET", "/v1/rollouts", list_all, "Rollouts, newest first", RolloutList, query={**_STATE, **PAGE}),
    Endpoint(
        "POST", "/v1/rollouts", start, "Begin a rollout", RolloutView, 201, RolloutBody, dry_answer=PreviewView
    ),
    Endpoint(
        "POST",
        "/v1/rollouts/preview",
        preview,
        "The whole plan of a rollout; nothing is scheduled",
        PreviewView,
        body=RolloutBody,
        role=Role.VIEWER,
        is_bulky=True,
    ),
    Endpoint("GET", "/v1/rollouts/{id}", show, "One rollout, and what it waits for", RolloutView),
    Endpoint("GET", "/v1/rollouts/{id}/hosts", list_hosts, "Its hosts, in their order", TurnList, query=PAGE),
    _change_endpoint("pause", pause, "Stop for now", StopRolloutBody),
    _change_endpoint("resume", resume, "Go on, with new notice", ResumeBody),
    _change_endpoint("abort", abort, "Stop for good", StopRolloutBody),
]
