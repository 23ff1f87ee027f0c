"""The client report over REST: how guests poll, approve and handle errors."""

from __future__ import annotations

from collections.abc import Collection

from forewarn.control.plane import ControlPlane
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.refusal import Code, Refusal
from forewarn.operator.endpoint import Call, Endpoint, Nothing, PageQuery
from forewarn.operator.filters import Malformed, page_of, text_of, word_of
from forewarn.operator.fleet import PAGE, paged
from forewarn.report.moment import Pace
from forewarn.report.observer import GuestObserver
from forewarn.report.views import Report, report_on
from forewarn.wire.choices import did_you_mean


async def show_report(call: Call, _: Nothing) -> Report | Refusal:
    """Report what guests did since the service started."""
    try:
        page, vm = page_of(call), text_of(call, "vm")
        pace = word_of(call, "pace", Pace) or usual_pace(call.context.timekeeper)
    except Malformed as problem:
        return problem.refusal
    context = call.context
    if context.conduct is None:
        return Refusal(
            Code.NOT_ALLOWED,
            "This service does not watch its guests.",
            "Start it with --watch-guests. With --clock virtual it is on unless watch_guests is off.",
        )
    known = await call.on_plane(_known_vms, context.plane)
    if vm is not None:
        return report_on_vm(context.conduct, vm, known, pace)
    return await call.aside(_report_on_all, context.conduct, page, known, pace)  # a thousand guests take a while


def _known_vms(plane: ControlPlane) -> list[str]:
    return list(plane.world.vms)


def usual_pace(timekeeper: Timekeeper | None) -> Pace:
    """Real time if the clock runs, virtual time if it is moved by hand."""
    return Pace.REAL if timekeeper is None or timekeeper.rate else Pace.VIRTUAL


def report_on_vm(conduct: GuestObserver, vm: str, known: Collection[str], pace: Pace) -> Report | Refusal:
    """The report on one VM that exists or has sent a request."""
    heard = conduct.heard()
    if vm not in heard and vm not in known:
        hint = f"{did_you_mean(vm, {*known, *heard})} forewarn vm list".lstrip()
        return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.", hint)
    now = conduct.now()
    return Report(pace, [report_on(notes, now, pace) for notes in conduct.notes_on([vm])], int(vm not in heard))


def _report_on_all(conduct: GuestObserver, page: PageQuery, known: list[str], pace: Pace) -> Report:
    heard = conduct.heard()
    names, following = paged(heard, page)
    now = conduct.now()
    guests = [report_on(notes, now, pace) for notes in conduct.notes_on(names)]
    return Report(pace, guests, len(set(known).difference(heard)), following)


ENDPOINTS = [
    Endpoint(
        "GET",
        "/v1/report",
        show_report,
        "Report how guests poll, approve and handle errors",
        Report,
        query={
            "vm": "only this VM",
            "pace": "`real` or `virtual`: the clock that counts seconds (default: real if the clock runs, virtual "
            "if it is moved by hand)",
        }
        | PAGE,
        is_bulky=True,
    ),
]
