"""What has been, as operators are told it: lines of the history, what they come to, and the audit.

Each is told as JSON, and lines also as rows of a table, with the same names in the same order.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import msgspec

from forewarn.core.history import Approver, HistoryEntry, Spread, Summary
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, Kind, Source
from forewarn.core.world import AuditEntry
from forewarn.wire.rest import ApprovalView, Instant


class HistoryRow(msgspec.Struct):
    """What happened, who asked, who approved, how much notice there was, and how long machines were away."""

    event: str | None
    operation: str
    rollout: str | None
    cause: Cause
    kind: Kind | None
    source: Source
    resources: list[str]
    scope: str | None
    asked_by: str
    approved_by: str | None
    approvals: list[ApprovalView]
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    notice_promised_seconds: float | None
    notice_given_seconds: float | None
    interruption_expected_seconds: int | None
    interruption_seconds: float | None
    interruption_vm_seconds: float | None
    outcome: Phase
    reason: str
    fault: str
    host: str | None  # for work on a whole host


class SpreadView(msgspec.Struct):
    """The least, the middle and the most of some seconds."""

    least: float
    median: float
    most: float


class SummaryView(msgspec.Struct):
    """What many lines of the history come to; null where there is nothing to count."""

    lines: int
    outcomes: dict[Phase, int]
    started_by: dict[Approver, int]
    notice_promised_seconds: SpreadView | None
    notice_given_seconds: SpreadView | None
    interruption_expected_seconds: SpreadView | None
    interruption_seconds: SpreadView | None
    interruption_vm_seconds: float


class DeedView(msgspec.Struct):
    """Who did what, when, and to what."""

    at: Instant
    actor: str
    verb: str
    subject: str
    detail: str
    operation: str | None
    event: str | None


def history_row(line: HistoryEntry) -> HistoryRow:
    """One line: an event that has ended, or an operation that made none."""
    operation, event, about = line.operation, line.event, line.about
    interruptions = line.interruptions
    return HistoryRow(
        event=event.id if event else None,
        operation=operation.id,
        rollout=operation.rollout,
        cause=operation.cause,
        kind=operation.kind,
        source=operation.source,
        resources=list(line.resources),
        scope=event.scope if event else None,
        asked_by=operation.asked_by,
        approved_by=event.approved_by if event else None,
        approvals=[ApprovalView(each.by, each.at) for each in event.approvals] if event else [],
        created_at=about.created_at,
        started_at=about.started_at,
        ended_at=about.ended_at,
        notice_promised_seconds=_seconds(line.notice_promised),
        notice_given_seconds=_seconds(line.notice_given),
        interruption_expected_seconds=line.interruption_expected_seconds,
        interruption_seconds=_seconds(max(interruptions, default=None)),
        interruption_vm_seconds=_seconds(sum(interruptions, timedelta(0)) if interruptions else None),
        outcome=about.phase,
        reason=about.reason,
        fault=event.fault if event else "",
        host=operation.host,
    )


def _seconds(value: timedelta | None) -> float | None:
    return None if value is None else value.total_seconds()


def summary_view(summary: Summary) -> SummaryView:
    """What many lines come to."""
    return SummaryView(
        lines=summary.lines,
        outcomes=dict(summary.outcomes),
        started_by=dict(summary.started_by),
        notice_promised_seconds=_spread(summary.notice_promised),
        notice_given_seconds=_spread(summary.notice_given),
        interruption_expected_seconds=_spread(summary.interruption_expected),
        interruption_seconds=_spread(summary.interruption),
        interruption_vm_seconds=summary.interruption_vm_seconds,
    )


def _spread(spread: Spread | None) -> SpreadView | None:
    return None if spread is None else SpreadView(*(getattr(spread, field.name) for field in fields(spread)))


def deed_view(deed: AuditEntry) -> DeedView:
    """One line of the audit."""
    return DeedView(deed.at, deed.actor, deed.verb, deed.subject, deed.detail, deed.operation, deed.event)
