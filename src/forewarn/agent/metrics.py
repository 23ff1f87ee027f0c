"""Figures for Prometheus: those that the webdevops exporter and manager have, under their names, and our own."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import datetime
from itertools import accumulate
from typing import Union

from forewarn import __version__
from forewarn.agent.case import Case, Consent, Direction
from forewarn.agent.compat import dataclass
from forewarn.agent.policy import Occasion, Profile

Labels = tuple[tuple[str, str], ...]
Sample = Union[tuple[Labels, float], tuple[Labels, float, str]]  # the last: what follows the family's name

_REQUEST_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # the exporter's

_COUNTERS = {
    "polls": "Good answers of the endpoint.",
    "poll_errors": "Answers that could not be used, or did not come, by kind.",
    "steps": "Attempts at steps, by kind of handler, direction and outcome.",
    "approvals": "Approvals sent, by result.",
    "journal_errors": "Writes to the journal that failed.",
    "events_over": "Events that are over, by ending.",
}


class Metrics:
    """What has been counted since the agent began. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, Labels], float] = {}
        self._spans: dict[str, tuple[int, float]] = {}
        self._requests = [0] * (len(_REQUEST_BOUNDS) + 1)  # by bound; the last: longer than all
        self._request_seconds = 0.0

    def count(self, name: str, **labels: str) -> None:
        """One more."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._counts[key] = self._counts.get(key, 0) + 1

    def observe_phases(self, case: Case, profile: Profile) -> None:
        """How long each phase of a case took that is over."""
        with self._lock:
            for phase, seconds in phases_of(case, profile):
                number, total = self._spans.get(phase, (0, 0.0))
                self._spans[phase] = (number + 1, total + seconds)

    def observe_request(self, seconds: float) -> None:
        """How long the endpoint took for an answer that it was not asked to hold."""
        with self._lock:
            self._requests[bisect_left(_REQUEST_BOUNDS, seconds)] += 1
            self._request_seconds += seconds

    def total(self, name: str) -> float:
        """How often, under any labels."""
        with self._lock:
            return sum(value for (counted, _), value in self._counts.items() if counted == name)

    def families(self) -> Iterator[Family]:
        """What was counted, for the page."""
        with self._lock:
            counts, spans = dict(self._counts), dict(self._spans)
        for name, help_text in _COUNTERS.items():
            samples = [(labels, value) for (counted, labels), value in counts.items() if counted == name]
            yield Family(f"forewarn_agent_{name}_total", "counter", help_text, samples or [((), 0)])
        yield Family(
            "forewarn_agent_phase_seconds",
            "summary",
            "How long the phases of events took that are over.",
            [
                sample
                for phase, (number, total) in spans.items()
                for sample in (((("phase", phase),), total, "_sum"), ((("phase", phase),), number, "_count"))
            ],
        )

    def requests(self) -> Family:
        """How long the endpoint takes to answer."""
        with self._lock:
            numbers, seconds = list(accumulate(self._requests)), self._request_seconds
        bounds = [*(str(bound) for bound in _REQUEST_BOUNDS), "+Inf"]
        samples = [
            *(((("le", bound),), number, "_bucket") for bound, number in zip(bounds, numbers)),
            ((), seconds, "_sum"),
            ((), numbers[-1], "_count"),
        ]
        help_text = "Seconds to a good answer, where the endpoint was not asked to hold it."
        return Family("azure_scheduledevent_request", "histogram", help_text, samples)


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with its samples."""

    name: str
    type: str
    help: str
    samples: Iterable[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there is to tell now."""

    cases: tuple[Case, ...]  # that are not closed
    now: datetime
    incarnation: int | None
    poll_age_seconds: float | None
    is_blind: bool


def write_page(metrics: Metrics, moment: Snapshot) -> str:
    """The page."""
    errors = metrics.total("poll_errors")
    families = (*_webdevops(moment, errors), metrics.requests(), *_own(moment), *metrics.families())
    return "".join(f"{line}\n" for family in families for line in _lines(family))


def _webdevops(moment: Snapshot, errors: float) -> Iterator[Family]:
    there = [case for case in moment.cases if case.is_open]
    if moment.incarnation is not None:
        yield Family(
            "azure_scheduledevent_document_incarnation",
            "gauge",
            "DocumentIncarnation of the last answer.",
            [((), moment.incarnation)],
        )
    yield Family(
        "azure_scheduledevent_event",
        "gauge",
        "An event and a VM that it names: NotBefore as a Unix time, or 1 where there is none.",
        [sample for case in there for sample in _event_samples(case)],
    )
    yield Family(
        "azure_scheduledevent_event_drain",
        "gauge",
        "When the preparation for an event began and finished, as a Unix time.",
        [sample for case in there for sample in _drain_samples(case)],
    )
    yield Family(
        "azure_scheduledevent_event_approval",
        "gauge",
        "When an event was approved, as a Unix time.",
        [
            ((("eventID", case.id),), case.consent_at.timestamp())
            for case in there
            if case.consent is Consent.GIVEN and case.consent_at
        ],
    )
    yield Family(
        "azure_scheduledevent_request_error",
        "counter",
        "Answers that could not be used, or did not come.",
        [((), errors)],
    )


def _event_samples(case: Case) -> Iterator[tuple[Labels, float]]:
    event = case.event
    not_before = f"{event.not_before:%a, %d %b %Y %H:%M:%S GMT}" if event.not_before else ""
    for resource in event.resources or ("",):
        labels = (
            ("eventID", event.id),
            ("eventType", event.type),
            ("resourceType", event.resource_type),
            ("resource", resource),
            ("eventStatus", event.status),
            ("notBefore", not_before),
            ("eventSource", event.source),
        )
        yield labels, event.not_before.timestamp() if event.not_before else 1


def _drain_samples(case: Case) -> Iterator[tuple[Labels, float]]:
    begun_at = preparation_began_at(case, case.policy.profile(case.profile))
    if begun_at is not None:
        yield (("eventID", case.id), ("type", "start")), begun_at.timestamp()
        if case.prepared_at is not None:
            yield (("eventID", case.id), ("type", "finish")), case.prepared_at.timestamp()


def _own(moment: Snapshot) -> Iterator[Family]:
    yield Family("forewarn_agent_info", "gauge", "The version.", [((("version", __version__),), 1)])
    yield Family(
        "forewarn_agent_blind", "gauge", "1: no good answer for too long.", [((), float(moment.is_blind))]
    )
    if moment.poll_age_seconds is not None:
        yield Family(
            "forewarn_agent_poll_age_seconds",
            "gauge",
            "Since the last good answer.",
            [((), moment.poll_age_seconds)],
        )
    there = [case for case in moment.cases if case.is_open]
    yield Family("forewarn_agent_events", "gauge", "Events that are there now.", [((), float(len(there)))])
    yield Family(
        "forewarn_agent_event_seconds_to_not_before",
        "gauge",
        "How far NotBefore is away; negative: it is past.",
        [
            ((("event", case.id),), (case.event.not_before - moment.now).total_seconds())
            for case in there
            if case.event.not_before
        ],
    )


def preparation_began_at(case: Case, profile: Profile) -> datetime | None:
    """When the first step of the preparation was begun."""
    runs = [run for step in profile.on(Occasion.PREPARE) if (run := case.run(step.name)) is not None]
    return min((run.begun_at for run in runs), default=None)


def phases_of(case: Case, profile: Profile) -> Iterator[tuple[str, float]]:
    """The phases of a case and how long each took, as far as it had them."""
    undone = [run for (_, direction), run in case.runs.items() if direction is Direction.UNDO]
    spans = {
        "preparing": (preparation_began_at(case, profile), case.prepared_at),
        "approving": (case.prepared_at, case.consent_at if case.consent is Consent.GIVEN else None),
        "started": (case.started_at, case.ended_at),
        "recovering": (
            case.ended_at if undone else None,
            max((run.ended_at or run.begun_at for run in undone), default=None),
        ),
        "whole": (case.first_seen_at, case.closed_at),
    }
    for phase, (begun_at, ended_at) in spans.items():
        if begun_at is not None and ended_at is not None:
            yield phase, max(0.0, (ended_at - begun_at).total_seconds())


def _lines(family: Family) -> Iterator[str]:
    samples = list(family.samples)
    if not samples:
        return
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.type}"
    for labels, value, *suffix in samples:
        name = "".join((family.name, *suffix))
        said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
        yield f"{name}{{{said}}} {_number(value)}" if said else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
