"""Figures for Prometheus while the plane cannot answer."""

from __future__ import annotations

import threading

import pytest

from forewarn.operator import metrics
from tests.fleets import SMALL
from tests.running import running


def test_busy_plane_is_healthy_in_metrics_and_readiness_alike(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(metrics, "_PATIENCE_SECONDS", 0.0)
    is_busy, may_end = threading.Event(), threading.Event()

    def work() -> None:
        is_busy.set()
        may_end.wait()

    with running(SMALL) as service:
        busy = service.service.runner.submit(work)
        is_busy.wait()
        try:
            page = service.operator("GET", "/metrics").body.decode()
            problem = service.service.runner.problem
        finally:
            may_end.set()
        busy.result()
        ready = service.operator("GET", "/readyz").status

    assert "forewarn_plane_healthy 1.0" in page.splitlines()
    assert problem is None
    assert ready == 200
