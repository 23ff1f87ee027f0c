"""A bug in one operation is told, and is not the trouble of the others."""

from __future__ import annotations

import pytest

from forewarn.control.commands.vms import act_on_vm
from forewarn.core import decide, steps
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause
from tests.control.bench import WEB, Bench


def test_a_bug_in_looking_at_one_operation_leaves_the_others_going(monkeypatch):
    bench = Bench(WEB)
    bad = act_on_vm(bench.plane, Cause.RESTART, "solo", "owner")
    good = act_on_vm(bench.plane, Cause.RESTART, "web-1", "owner")
    real = bench.plane.world.attempts_of

    def broken(operation: str):
        if operation == bad.operation.id:
            raise KeyError("solo")
        return real(operation)

    monkeypatch.setattr(bench.plane.world, "attempts_of", broken)
    bench.advance(minutes=2)

    before = (bench.operation(good).phase, bench.operation(bad).phase)
    monkeypatch.undo()
    bench.advance(minutes=3)

    assert before == (Phase.COMPLETED, Phase.STARTED)
    assert bench.plane.bugs > 0
    assert bench.operation(bad).phase is Phase.COMPLETED


def test_a_bug_in_what_holds_an_operation_keeps_it_from_starting_only_until_the_next_look(monkeypatch):
    bench = Bench(WEB)
    real = decide.holds

    def broken(*_):
        raise KeyError("solo")

    monkeypatch.setattr(decide, "holds", broken)
    restart = bench.ask(Cause.RESTART, "solo")
    monkeypatch.setattr(decide, "holds", real)
    once = bench.plane.bugs
    bench.advance(minutes=3)

    assert once == 1
    assert bench.operation(restart).phase is Phase.COMPLETED


def test_a_bug_in_concluding_one_action_neither_stops_the_others_nor_spins_the_plane(monkeypatch):
    bench = Bench(WEB)
    bench.turn_on("web-1")
    bad = bench.ask(Cause.RESTART, "solo")
    later = bench.ask(Cause.RESTART, "web-1")
    real = steps.conclude

    def broken(draft, attempt, report):
        if attempt.vm == "solo":
            raise KeyError("solo")
        real(draft, attempt, report)

    monkeypatch.setattr(steps, "conclude", broken)
    bench.advance(seconds=61)
    once = bench.plane.bugs
    bench.approve("web-0", bench.event(later))
    bench.advance(seconds=66)
    twice = bench.plane.bugs
    monkeypatch.undo()
    bench.advance(minutes=1)

    assert (once, twice) == (1, 2)
    assert bench.operation(later).phase is Phase.COMPLETED
    assert bench.operation(bad).phase is Phase.COMPLETED


@pytest.mark.parametrize("most", [1, 2, 3])
def test_deletes_that_end_in_one_moment_all_end_however_small_the_commits(most: int):
    bench = Bench(
        {
            "scale_sets": [{"name": "pool", "capacity": 5}],
            "vms": [{"name": "s", "priority": "Spot", "eviction_policy": "Delete"}],
        }
    )
    bench.plane.most_intents = most
    deletes = [act_on_vm(bench.plane, Cause.DELETE, f"pool_{n}", "owner") for n in range(5)]
    evict = bench.evict("s")

    bench.advance(minutes=1)

    assert [bench.operation(each).phase for each in (*deletes, evict)] == [Phase.COMPLETED] * 6
    assert bench.plane.bugs == 0
