"""An outage of the store as the plane's thread sees it: logged once, retried once a second, ended by a tick."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from forewarn.control.runner import Runner
from forewarn.errors import StoreUnavailable
from tests.control.bench import Bench
from tests.fleets import SMALL


def fail() -> None:
    raise StoreUnavailable("The disk is full.", "Free some space.")


def fail_unexpectedly() -> None:
    raise ValueError("a bug")


def go_round(runner: Runner, times: int = 1) -> None:
    for _ in range(times):
        runner._tick()
        runner._probed_at = 0.0
        runner._probe_now_and_then()


def test_probe_that_succeeds_does_not_end_an_outage_that_ticks_still_meet(monkeypatch: pytest.MonkeyPatch):
    bench = Bench(SMALL)
    runner = Runner(bench.plane)
    with capture_logs() as logged:
        with monkeypatch.context() as broken:
            broken.setattr(bench.plane, "tick", fail)
            go_round(runner, times=5)
            during = (runner.problem, runner._sleep_seconds())
        go_round(runner)

    assert during == ("The disk is full.", 1.0)
    assert runner.problem is None
    assert [each["event"] for each in logged] == ["store unavailable", "store available"]


@pytest.mark.parametrize(
    "do",
    [Runner._flush, go_round, Runner._prune_while_idle],
    ids=["flush", "probe", "prune"],
)
def test_bug_in_a_chore_is_logged_once_and_not_taken_for_an_outage(
    do: Callable[[Runner], None], monkeypatch: pytest.MonkeyPatch
):
    bench = Bench(SMALL)
    runner = Runner(bench.plane)
    for chore in ("flush", "probe_store"):
        monkeypatch.setattr(bench.plane, chore, fail_unexpectedly)
    monkeypatch.setattr(bench.plane.retention, "prune", fail_unexpectedly)
    monkeypatch.setattr(type(bench.plane.retention), "is_due", True)
    runner._pruned_at = 0.0
    with capture_logs() as logged:
        do(runner)
        do(runner)

    assert runner.problem is None
    assert [each["event"] for each in logged] == ["plane chore failed unexpectedly"]


def test_probes_come_at_their_time_whatever_wakes_the_thread_in_between(monkeypatch: pytest.MonkeyPatch):
    bench = Bench(SMALL)
    runner = Runner(bench.plane)
    go_round(runner)
    elapsed = runner._probed_at + 1.4
    monkeypatch.setattr("forewarn.control.runner.time.monotonic", lambda: elapsed)

    assert runner._sleep_seconds() <= 0.11
