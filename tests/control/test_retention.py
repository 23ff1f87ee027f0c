"""Old history is let go a little at a time, by the service's clock, and nobody waits for it."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import patch

import pytest
import sqlalchemy as sa

from forewarn.clock import VirtualClock
from forewarn.control.plane import ControlPlane
from forewarn.control.retention import Retention
from forewarn.control.runner import Runner
from forewarn.core.terms import Cause, Kind
from forewarn.errors import StoreUnavailable
from forewarn.store import retention
from forewarn.store.sql import SqlStore
from forewarn.store.tables import deeds, operations
from tests.control.bench import NOON, WEB, Bench
from tests.running import wait_until

YEAR = timedelta(days=365)


def bench(keep: timedelta | None = YEAR) -> Bench:
    made = Bench(WEB)
    made.plane.retention = Retention(made.store, made.clock, keep)
    return made


def kept(store: SqlStore) -> int:
    with store.transaction() as transaction:
        return transaction.connection.execute(sa.select(sa.func.count()).select_from(operations)).scalar_one()


def stop_and_start(on: Bench, times: int) -> None:
    for _ in range(times):
        for cause in (Cause.STOP, Cause.START):
            on.ask(cause, "solo")
            on.advance(seconds=30)


def test_what_ended_a_year_ago_is_gone_when_the_clock_has_been_moved_there():
    on = bench()
    stop_and_start(on, 2)

    on.advance(days=364)
    before = kept(on.store)
    on.advance(days=2)

    assert (before, kept(on.store)) == (4, 0)


def test_without_a_limit_everything_is_kept():
    on = bench(keep=None)
    stop_and_start(on, 2)

    on.advance(days=10_000)

    assert kept(on.store) == 4
    assert not on.plane.retention.is_due


def test_what_is_open_is_there_and_goes_on_though_it_is_older_than_all_that_is_kept():
    on = bench(keep=timedelta(days=1))
    degraded = on.degrade("host-2", days=7)

    on.advance(days=6)
    waiting = on.event(degraded)
    on.advance(days=1, hours=1)

    assert waiting.phase == "Scheduled"
    assert on.plane.world.vms["web-2"].host != "host-2"


def test_the_clock_never_stops_for_it():
    on = bench(keep=timedelta(days=1))
    stop_and_start(on, 1)

    assert on.plane.next_wake() is None


def test_a_clock_that_is_set_back_does_not_hinder_it():
    on = bench(keep=timedelta(days=1))
    stop_and_start(on, 1)
    on.advance(days=3)
    stop_and_start(on, 1)
    on.clock.step(timedelta(days=-1))

    on.advance(days=3)

    assert kept(on.store) == 0


def test_a_clock_that_began_less_than_that_ago_lets_nothing_go():
    clock = VirtualClock(NOON.replace(year=1))
    store = SqlStore("sqlite://")
    young = Retention(store, clock, YEAR)

    young.prune()
    store.close()

    assert not young.is_due


def test_after_a_full_batch_it_is_due_again_at_once_and_after_the_last_an_hour_later():
    on = bench(keep=timedelta(days=1))
    stop_and_start(on, 3)
    on.clock.move_to(NOON + timedelta(days=3))

    due = []
    with patch.object(retention, "MOST_OPERATIONS", 4):
        for _ in range(2):
            on.plane.retention.prune()
            due.append((on.plane.retention.is_due, kept(on.store)))
    on.clock.move_to(NOON + timedelta(days=3, hours=1))

    assert due == [(True, 2), (False, 0)]
    assert on.plane.retention.is_due


def test_deeds_that_concern_no_operation_go_too():
    on = bench(keep=timedelta(days=1))
    on.turn_on("solo")

    on.advance(days=5)

    with on.store.transaction() as transaction:
        verbs = [row.verb for row in transaction.connection.execute(sa.select(deeds.c.verb))]
    assert verbs == []


@pytest.fixture
def running() -> tuple[ControlPlane, Runner]:
    on = bench(keep=timedelta(days=1))
    stop_and_start(on, 3)
    on.clock.move_to(NOON + timedelta(days=3))
    return on.plane, Runner(on.plane)


def test_the_planes_thread_lets_it_go_by_itself_while_nobody_wants_anything(running: tuple[ControlPlane, Runner]):
    plane, runner = running

    runner.start()
    wait_until(lambda: not plane.retention.is_due, "the history to be pruned")
    left = runner.submit(kept, plane.store).result(60)
    runner.stop()

    assert left == 0


def test_requests_come_first(running: tuple[ControlPlane, Runner]):
    plane, runner = running
    runner._jobs.put(None)

    runner._pruned_at = -1e9
    runner._prune_while_idle()

    assert kept(plane.store) == 6


def test_a_store_that_does_not_answer_is_tried_again_later_and_the_thread_lives(
    running: tuple[ControlPlane, Runner],
):
    plane, runner = running
    runner._pruned_at = -1e9

    with patch.object(plane.store, "transaction", side_effect=StoreUnavailable("It is away.")):
        runner._prune_while_idle()

    assert not plane.retention.is_due
    assert kept(plane.store) == 6


def test_a_plane_that_is_started_again_goes_on_where_it_was_though_history_is_gone():
    on = bench(keep=timedelta(days=1))
    stop_and_start(on, 1)
    freeze = on.maintain("host-0", Kind.FREEZE, notice=timedelta(days=30))
    on.advance(days=10)

    on.start_plane()
    on.advance(days=21)

    assert kept(on.store) == 1
    assert {str(phase) for phase in on.phases(freeze)} == {"Completed"}
