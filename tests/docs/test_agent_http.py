"""The page about what the agent tells names all of it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from forewarn.agent import server, standing
from forewarn.agent.case import Consent, Direction, Outcome, Run
from forewarn.agent.metrics import Metrics, Snapshot, write_page
from forewarn.agent.policy import Profile, Step
from tests.agent.little_world import a_case
from tests.running import ROOT

PAGE = (ROOT / "docs/reference/agent-http.md").read_text(encoding="utf-8")
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def test_every_metric_is_on_the_page_and_no_other():
    metrics = Metrics()
    profile = Profile("drain", (Step("drain", "command"),))
    runs = {("drain", Direction.DO): Run(Outcome.DONE, 1, NOW, NOW)}
    case = a_case(runs=runs, prepared_at=NOW, consent=Consent.GIVEN, consent_at=NOW)
    metrics.observe_phases(case, profile)
    moment = Snapshot((case,), NOW, 1, 1.0, is_blind=False)

    shown = set(re.findall(r"^# TYPE (\S+)", write_page(metrics, moment), re.MULTILINE))

    assert shown == set(re.findall(r"`((?:azure_scheduledevent|forewarn_agent)_\w+)`", PAGE))


def test_every_path_is_on_the_page():
    paths = set(re.findall(r"^    (GET|POST) +(/\S+)", server.__doc__, re.MULTILINE))

    assert {path for _, path in paths} >= {"/healthz", "/readyz", "/drainz", "/events", "/metrics"}
    assert all(f"{method} {path.rstrip(',')}" in PAGE for method, path in paths)


def test_every_phase_is_on_the_page():
    assert all(f"`{phase}`" in PAGE for phase in standing.Phase)
