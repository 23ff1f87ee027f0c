"""A fleet for the tables of holds, and what holds an operation, in short."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from operator import attrgetter
from typing import Any

from forewarn.core.holds import (
    BelowMinimum,
    Hold,
    NoHostTakes,
    NoticeRuns,
    OtherDomainDown,
    Recovering,
    SetBusy,
    TerminatePending,
    TooManyAtWork,
    VmBusy,
    VmComes,
    VmLeaves,
    WindowClosed,
    holds,
)
from forewarn.core.window import Window
from forewarn.core.world import World
from tests.core.worlds import (
    NOON,
    Part,
    availability_set,
    done_turn,
    host,
    maintain,
    minutes,
    open_turn,
    rollout,
    vm,
    world,
)

H1, H2, H3 = host("h1"), host("h2"), host("h3")
SOLO, TWIN = vm("solo", "h1"), vm("twin", "h1")
WEB = availability_set("web")
WEB_0, WEB_1 = vm("web-0", "h1", "web", 0), vm("web-1", "h2", "web", 1)
FOREVER = None
BOTH = (H1, SOLO, TWIN)
DUE_TURN = open_turn(maintain("h1", due=0), wave=1)
NOW_OPEN = Window(time(11), timedelta(hours=4))
AT_FOUR = Window(time(16), timedelta(hours=4))
TOO_SHORT = Window(time(16), timedelta(seconds=64))
JUST_CLOSING = Window(time(11), timedelta(hours=1, seconds=64))


def held(found: World, operation: str, now: datetime = NOON) -> list[tuple[Any, ...]]:
    """The holds of an operation, each as its class and what is particular about it."""
    return [brief(hold) for hold in holds(found, found.operations[operation], now)]


def brief(hold: Hold | NoHostTakes) -> tuple[Any, ...]:
    match hold:
        case NoticeRuns(event=event, outlasted_by=None):
            return NoticeRuns, event.scope
        case NoticeRuns(event=event, outlasted_by=other):
            return NoticeRuns, event.scope, other.scope
        case OtherDomainDown(operation=None):
            return OtherDomainDown, hold.update_domain, hold.vm
        case OtherDomainDown():
            return OtherDomainDown, hold.update_domain, hold.vm, hold.operation.id
        case BelowMinimum():
            return BelowMinimum, hold.shortfall.set_name, hold.shortfall.needed, hold.until
        case TerminatePending():
            return TerminatePending, hold.event.operation, hold.until
        case _:
            return type(hold), *attrgetter(*PARTICULARS[type(hold)])(hold)


PARTICULARS = {
    VmBusy: ("vm", "operation.id"),
    VmLeaves: ("vm", "operation.id"),
    VmComes: ("vm", "host"),
    SetBusy: ("set_name", "operation.id"),
    Recovering: ("update_domain", "until"),
    WindowClosed: ("until", "is_forced"),
    TooManyAtWork: ("most", "hosts"),
    NoHostTakes: ("vm", "why"),
}


def web(minimum: int, *others: Part) -> World:
    members = (vm("web-0", "h1", "web"), vm("web-1", "h2", "web"), vm("web-2", "h3", "web"))
    return world(H1, H2, H3, availability_set("web", minimum), *members, *others)


def recovering(ended: float, **more: Any) -> World:
    past = done_turn("h2", "web-1", ended=ended, domains=("web#1",))
    return world(H1, H2, WEB, WEB_0, WEB_1, rollout(past, DUE_TURN, recovery=minutes(30), **more))


def in_window(window: Window, force_by: datetime | None = None) -> World:
    return world(H1, SOLO, rollout(DUE_TURN, window=window, force_by=force_by))
