"""A commit whose reply was lost is found out by the next tick: shown, and gone on with, whoever asks or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from forewarn.control.commands.guests import first_poll
from forewarn.control.commands.vms import act_on_vm
from forewarn.core.terms import Cause
from forewarn.errors import StoreUnavailable
from forewarn.store.sql import SqlStore, Transaction
from tests.control.bench import WEB, Bench


class Breaking:
    """The real store, behind a connection that breaks after some commits."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self.lost_replies: list[bool] = []  # of the next transactions

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._store.transaction() as transaction:
            yield transaction
        if self.lost_replies and self.lost_replies.pop(0):
            raise StoreUnavailable("the connection broke after the commit")


def bench_that_breaks() -> tuple[Bench, Breaking]:
    bench = Bench(WEB)
    breaking = Breaking(bench.store)
    bench.plane.store = breaking  # type: ignore[assignment]
    bench.turn_on("solo")
    return bench, breaking


def test_a_request_that_was_kept_without_an_answer_is_announced_by_the_next_tick():
    bench, breaking = bench_that_breaks()
    breaking.lost_replies = [True]

    with pytest.raises(StoreUnavailable):
        act_on_vm(bench.plane, Cause.RESTART, "solo", "owner")
    is_awake = bench.plane.next_wake() == bench.clock.now()
    bench.plane.tick()

    assert is_awake
    assert [event.resources for event in bench.plane.board.panels["solo"].page.document.events] == [("solo",)]


def test_an_attempt_that_was_recorded_without_an_answer_begins_though_finding_out_failed_once():
    bench, breaking = bench_that_breaks()
    first_poll(bench.plane, "web-0")
    breaking.lost_replies = [False, False, True, True]  # asked, started; the attempt; and finding out

    act_on_vm(bench.plane, Cause.DELETE, "spot", "owner")  # nobody listens there: it runs at once
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            bench.plane.tick()
    bench.plane.tick()

    assert breaking.lost_replies == []
    assert bench.effects("spot") == ["delete"]
