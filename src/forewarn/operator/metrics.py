"""Figures for Prometheus, read at the moment of the scrape.

One table: the page that Prometheus reads and the reference page are made from it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from forewarn.operator.endpoint import Call, Endpoint, Nothing, OperatorContext


class Figure(NamedTuple):
    """One metric: how it is called, what it means, and how it is read."""

    family: type[GaugeMetricFamily | CounterMetricFamily]
    name: str
    text: str
    read: Callable[[OperatorContext], Mapping[tuple[str, ...], float]]  # values by labels
    labels: tuple[str, ...] = ()

    def collect(self, values: Mapping[tuple[str, ...], float]) -> Metric:
        """The metric with these values."""
        metric = self.family(self.name, self.text, labels=self.labels)
        for labels, value in sorted(values.items()):
            metric.add_metric(labels, value)
        return metric


def _one(value: float) -> dict[tuple[str, ...], float]:
    return {(): value}


def _events(context: OperatorContext) -> Counter[tuple[str, ...]]:
    events = list(context.plane.world.events.values())
    return Counter((event.kind, event.phase) for event in events if event.phase.is_open)


_Gauge, _Counter = GaugeMetricFamily, CounterMetricFamily
FIGURES = (
    Figure(_Gauge, "forewarn_hosts", "Hosts in the fleet", lambda context: _one(len(context.plane.world.hosts))),
    Figure(_Gauge, "forewarn_vms", "VMs in the fleet", lambda context: _one(len(context.plane.world.vms))),
    Figure(
        _Gauge, "forewarn_scopes", "Scopes in the fleet", lambda context: _one(len(context.plane.world.scopes))
    ),
    Figure(
        _Gauge,
        "forewarn_scopes_on",
        "Scopes whose guests poll",
        lambda context: _one(sum(scope.is_on for scope in list(context.plane.world.scopes.values()))),
    ),
    Figure(_Gauge, "forewarn_events", "Open events", _events, ("kind", "phase")),
    Figure(
        _Counter, "forewarn_polls", "Polls answered with 200 or 304", lambda context: _one(context.tally.polls)
    ),
    Figure(
        _Counter,
        "forewarn_approvals",
        "Approvals taken from guests",
        lambda context: _one(context.tally.approvals),
    ),
    Figure(
        _Counter,
        "forewarn_refused",
        "Guests' requests refused",
        lambda context: {(str(status),): count for status, count in list(context.tally.refused.items())},
        ("status",),
    ),
    Figure(
        _Counter,
        "forewarn_operations_ended",
        "Operations by outcome",
        lambda context: {(outcome,): count for outcome, count in list(context.plane.ended.items())},
        ("outcome",),
    ),
    Figure(
        _Counter,
        "forewarn_bugs",
        "Times that an operation could not be gone on with; the log says why",
        lambda context: _one(context.plane.bugs),
    ),
    Figure(
        _Counter,
        "forewarn_webhook_delivered",
        "Deliveries that arrived",
        lambda context: context.webhooks.figures(lambda each: each.standing.delivered),
        ("webhook",),
    ),
    Figure(
        _Counter,
        "forewarn_webhook_failed",
        "Tries to deliver that failed",
        lambda context: context.webhooks.figures(lambda each: each.standing.failed),
        ("webhook",),
    ),
    Figure(
        _Gauge,
        "forewarn_webhook_waiting",
        "Deliveries that have not arrived yet",
        lambda context: context.webhooks.figures(lambda each: each.waiting),
        ("webhook",),
    ),
    Figure(
        _Gauge,
        "forewarn_webhook_dead",
        "Deliveries that were given up",
        lambda context: context.webhooks.figures(lambda each: each.dead),
        ("webhook",),
    ),
    Figure(
        _Gauge,
        "forewarn_plane_healthy",
        "1 while the store is available and ticks succeed",
        lambda context: _one(context.runner.problem is None),
    ),
)
_PATIENCE_SECONDS = 3.0


class _Scrape:
    """What a registry asks for its metrics."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        return iter(self._metrics)


def expose(metrics: Iterable[Metric]) -> bytes:
    """The page that Prometheus reads."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Scrape(metrics))
    return generate_latest(registry)


async def show_metrics(call: Call, _: Nothing) -> Response:
    """Figures for Prometheus."""

    def read(context: OperatorContext) -> list[Metric]:
        return [figure.collect(figure.read(context)) for figure in FIGURES]

    context = call.context
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS if context.runner.problem is None else 0):
            metrics = await call.on_plane(read, context)
    except TimeoutError:  # the plane waits for the store, or is busy; the figures are as it left them
        metrics = read(context)
    return Response(expose(metrics), media_type=CONTENT_TYPE_LATEST)


ENDPOINTS = [Endpoint("GET", "/metrics", show_metrics, "Figures for Prometheus", str, media_type="text/plain")]
