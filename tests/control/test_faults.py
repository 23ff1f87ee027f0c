"""Fault rules and commits: what was not committed has not happened to a rule either."""

from __future__ import annotations

import pytest

from forewarn.board.faults import Posted
from forewarn.control.commands.faults import add_fault, clear_faults
from forewarn.control.commands.vms import act_on_vm
from forewarn.core.fault import FaultRule
from forewarn.core.terms import Cause
from forewarn.errors import StoreUnavailable
from forewarn.wire.fault import parse_fault
from tests.control.bench import WEB, Bench


def add(bench: Bench, **said: object) -> Posted:
    rule = parse_fault(said)
    assert isinstance(rule, FaultRule), rule
    posted = add_fault(bench.plane, rule, "test")
    assert isinstance(posted, Posted), posted
    return posted


def break_next_commit(bench: Bench) -> None:
    """Let the next commit be written, and not kept."""
    real = bench.plane.polls.urgent

    def urgent() -> object:
        bench.plane.polls.urgent = real
        raise StoreUnavailable("The store did not answer.")

    bench.plane.polls.urgent = urgent


@pytest.mark.parametrize("name", ["early_start", "shortened_notice"])
def test_an_event_that_could_not_be_kept_is_not_counted_by_a_fault(name: str):
    bench = Bench(WEB)
    bench.turn_on("solo")
    posted = add(bench, name=name, seconds=60, count=1)
    break_next_commit(bench)
    with pytest.raises(StoreUnavailable):
        act_on_vm(bench.plane, Cause.RESTART, "solo", "test")
    before = posted.asked, posted.hits

    act_on_vm(bench.plane, Cause.RESTART, "solo", "test")

    assert before == (0, 0)
    assert (posted.asked, posted.hits) == (1, 1)
    assert [event.fault for event in bench.plane.world.events.values()] == [name]


def test_a_rule_whose_end_could_not_be_kept_is_still_in_force():
    bench = Bench(WEB)
    posted = add(bench, name="status")
    break_next_commit(bench)

    with pytest.raises(StoreUnavailable):
        clear_faults(bench.plane, posted.id, "test")

    assert bench.plane.faults.all == [posted]
    assert clear_faults(bench.plane, posted.id, "test") == [posted]
    assert bench.plane.faults.all == []
