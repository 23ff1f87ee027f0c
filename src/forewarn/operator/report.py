"""The report on guests: how they ask, what they approve, what they do with errors."""

from __future__ import annotations

from collections.abc import Collection

from forewarn.board.conduct import Conduct
from forewarn.control.plane import ControlPlane
from forewarn.control.timekeeper import Timekeeper
from forewarn.core.moment import Pace
from forewarn.core.refusal import Code, Refusal
from forewarn.operator.endpoint import Call, Endpoint, Nothing, PageQuery
from forewarn.operator.filters import Malformed, page_of, text_of, word_of
from forewarn.operator.fleet import PAGE, paged
from forewarn.wire.choices import did_you_mean
from forewarn.wire.report import Report, report_on


async def show_report(call: Call, _: Nothing) -> Report | Refusal:
    """What guests did since the service was started."""
    try:
        page, vm = page_of(call), text_of(call, "vm")
        pace = word_of(call, "pace", Pace) or usual_pace(call.context.timekeeper)
    except Malformed as problem:
        return problem.refusal
    context = call.context
    if context.conduct is None:
        return Refusal(
            Code.NOT_ALLOWED,
            "The service does not note what guests ask.",
            "Serve with --watch-guests; with --clock virtual it does unless watch_guests is set to no.",
        )
    known = await call.on_plane(_known_vms, context.plane)
    if vm is not None:
        return report_on_vm(context.conduct, vm, known, pace)
    return await call.aside(_report_on_all, context.conduct, page, known, pace)  # a thousand take a while


def _known_vms(plane: ControlPlane) -> list[str]:
    return list(plane.world.vms)


def usual_pace(timekeeper: Timekeeper | None) -> Pace:
    """By the clock that runs; by the one that is moved by hand, where none does."""
    return Pace.REAL if timekeeper is None or timekeeper.rate else Pace.VIRTUAL


def report_on_vm(conduct: Conduct, vm: str, known: Collection[str], pace: Pace) -> Report | Refusal:
    """The report on one VM, which has to be, or to have been heard."""
    heard = conduct.heard()
    if vm not in heard and vm not in known:
        hint = f"{did_you_mean(vm, {*known, *heard})} forewarn vm list".lstrip()
        return Refusal(Code.NOT_FOUND, f"There is no VM {vm}.", hint)
    now = conduct.now()
    return Report(pace, [report_on(notes, now, pace) for notes in conduct.notes_on([vm])], int(vm not in heard))


def _report_on_all(conduct: Conduct, page: PageQuery, known: list[str], pace: Pace) -> Report:
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
        "What guests did: how they ask, approve, and take errors",
        Report,
        query={
            "vm": "only this VM",
            "pace": "`real` or `virtual`: the seconds by which guests are judged (default: real where the clock "
            "runs, virtual where it is moved by hand)",
        }
        | PAGE,
        is_bulky=True,
    ),
]
