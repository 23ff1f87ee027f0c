"""Health, readiness and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import Response

from forewarn.operator.endpoint import Call, Endpoint, Nothing, Office, refuse


class Health(msgspec.Struct):
    """Whether it lives, or may be used."""

    status: str


async def healthz(call: Call, _: Nothing) -> Health | Response:
    """Alive: the process answers and its plane runs."""
    if not call.office.runner.is_alive:
        return refuse(503, "PlaneDead", "The plane's thread has ended.", "Restart the service and see its log.")
    return Health("ok")


async def readyz(call: Call, _: Nothing) -> Health | Response:
    """Ready: the store answers and what is due gets done."""
    if call.office.runner.problem is not None:
        return refuse(503, "NotReady", f"The last tick failed: {call.office.runner.problem}", "See the log.")
    return Health("ready")


class _Collector:
    """Reads the figures at the moment of the scrape."""

    def __init__(self, office: Office) -> None:
        self._office = office

    def collect(self) -> Iterator[Metric]:
        world, tally = self._office.plane.world, self._office.tally
        yield _gauge("forewarn_hosts", "Hosts in the fleet", len(world.hosts))
        yield _gauge("forewarn_vms", "VMs in the fleet", len(world.vms))
        yield _gauge("forewarn_scopes", "Scopes in the fleet", len(world.scopes))
        on = sum(scope.is_on for scope in list(world.scopes.values()))
        yield _gauge("forewarn_scopes_on", "Scopes whose guests poll", on)
        events = GaugeMetricFamily("forewarn_events", "Open events", labels=["kind", "phase"])
        counts = Counter((event.kind, event.phase) for event in list(world.events.values()) if event.phase.is_open)
        for (kind, phase), count in sorted(counts.items()):
            events.add_metric([kind, phase], count)
        yield events
        yield CounterMetricFamily("forewarn_polls", "Polls answered with 200 or 304", value=tally.polls)
        yield CounterMetricFamily("forewarn_approvals", "Approvals taken from guests", value=tally.approvals)
        refused = CounterMetricFamily("forewarn_refused", "Guests' requests refused", labels=["status"])
        for status, count in sorted(tally.refused.items()):
            refused.add_metric([str(status)], count)
        yield refused
        plane = self._office.plane
        ended = CounterMetricFamily("forewarn_operations_ended", "Operations by outcome", labels=["outcome"])
        for outcome, count in sorted(plane.ended.items()):
            ended.add_metric([outcome], count)
        yield ended
        yield _gauge("forewarn_plane_healthy", "1 while ticks succeed", int(self._office.runner.problem is None))


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


async def metrics(call: Call, _: Nothing) -> Response:
    """Figures for Prometheus."""

    def read() -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(call.office))
        return generate_latest(registry)

    return Response(await call.on_plane(read), media_type=CONTENT_TYPE_LATEST)


ENDPOINTS = [
    Endpoint("GET", "/healthz", healthz, "Whether the service lives", Health),
    Endpoint("GET", "/readyz", readyz, "Whether the service may be used", Health),
    Endpoint("GET", "/metrics", metrics, "Figures for Prometheus", str),
]
