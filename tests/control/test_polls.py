"""The poll ledger: silence, failed commits, and how much it keeps."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta

import pytest

from forewarn.control.commands.guests import first_poll
from forewarn.control.timer_heap import TimerHeap
from forewarn.core.terms import Cause
from forewarn.errors import StoreUnavailable
from tests.control.bench import NOON, WEB, Bench


def refuse_once(bench: Bench) -> None:
    """Let the store refuse the next commit, before anything is kept."""
    real = bench.store.transaction

    def transaction():
        bench.store.transaction = real
        raise StoreUnavailable("The store did not answer.")

    bench.store.transaction = transaction


def test_a_first_poll_that_could_not_be_kept_leaves_nothing_due_a_day_later():
    bench = Bench(WEB)
    refuse_once(bench)
    with pytest.raises(StoreUnavailable):
        first_poll(bench.plane, "solo")

    bench.advance(hours=25)

    assert not bench.plane.world.scopes["solo"].is_on
    assert bench.plane.next_wake() is None


def test_a_scope_that_could_not_be_turned_off_is_turned_off_later():
    bench = Bench(WEB)
    bench.turn_on("solo")
    bench.clock.move_to(bench.clock.now() + timedelta(hours=25))
    real = bench.plane.commit

    def away(*_: object) -> None:
        bench.plane.commit = real
        raise StoreUnavailable("The store did not answer.")

    bench.plane.commit = away
    with pytest.raises(StoreUnavailable):
        bench.plane.tick()

    bench.plane.tick()

    assert not bench.plane.world.scopes["solo"].is_on


def test_a_key_that_is_put_off_again_and_again_takes_one_place_in_the_heap():
    wakes: TimerHeap[str, timedelta] = TimerHeap()
    wakes.set("silent", timedelta(seconds=1))

    for second in range(10_000):
        wakes.set("busy", timedelta(hours=24, seconds=second))

    assert len(wakes) == 2
    assert wakes.take(timedelta(seconds=1)) == ["silent"]
    assert wakes.next() == timedelta(hours=24, seconds=9_999)


def test_keys_come_up_when_they_are_due_whether_they_were_put_off_or_pulled_nearer():
    wakes: TimerHeap[str, timedelta] = TimerHeap()
    for name, seconds in (("a", 5), ("b", 6), ("c", 7), ("d", 8), ("a", 9), ("c", 1), ("b", None), ("e", 5)):
        wakes.set(name, None if seconds is None else timedelta(seconds=seconds))

    assert wakes.take(timedelta(seconds=4)) == ["c"]
    assert wakes.take(timedelta(seconds=8)) == ["e", "d"]
    assert wakes.take(timedelta(seconds=9)) == ["a"]
    assert wakes.next() is None


def test_a_poll_that_is_answered_while_its_scope_is_turned_off_keeps_it_on():
    bench = Bench(WEB)
    bench.turn_on("solo")
    panel = bench.plane.board.panels["solo"]
    real = bench.store.transaction

    @contextmanager
    def meanwhile():
        with real() as transaction:
            yield transaction
            if bench.clock.now() >= NOON + timedelta(hours=24) and panel.is_on:
                bench.plane.board.polled[panel] = None  # as the listener does while the commit is on its way

    bench.store.transaction = meanwhile
    bench.advance(hours=24)

    assert bench.plane.world.scopes["solo"].is_on
    assert bench.ask(Cause.RESTART, "solo").events != ()
