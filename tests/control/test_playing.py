"""A virtual clock that plays: where it stops for somebody, and when it is looked at again."""

from __future__ import annotations

from datetime import timedelta

from forewarn.control.timekeeper import Timekeeper
from forewarn.core.terms import Cause
from tests.control.bench import NOON, Bench
from tests.fleets import SMALL


class Playing:
    """A clock that plays sixty times as fast as a real one that the test moves."""

    def __init__(self) -> None:
        self.bench = Bench(SMALL)
        self.bench.turn_on("solo")
        self.real = 100.0
        self.keeper = Timekeeper(self.bench.plane, self.bench.clock, lambda: self.real)
        self.keeper.play(60)

    def pass_real(self, seconds: float) -> float:
        """So many seconds go by; where the clock is then, in seconds since noon."""
        self.real += seconds
        self.keeper.keep_up()
        return (self.bench.clock.now() - NOON).total_seconds()


def test_a_clock_that_plays_goes_no_further_than_its_stop_and_then_catches_up():
    playing, reached = Playing(), list[float]()

    playing.keeper.play_until(NOON + timedelta(seconds=90), lambda: reached.append(playing.real))

    assert playing.pass_real(1) == 60
    assert reached == []
    assert playing.pass_real(1) == 90
    assert reached == [102.0]
    assert playing.pass_real(1) == 90
    playing.keeper.play_until(NOON + timedelta(hours=1), lambda: None)
    assert playing.pass_real(0) == 180


def test_what_is_due_at_the_stop_is_done_when_it_is_reached():
    playing, phases = Playing(), list[str]()
    playing.bench.ask(Cause.RESTART, "solo")
    (event,) = playing.bench.plane.world.events

    playing.keeper.play_until(
        NOON + timedelta(minutes=15), lambda: phases.append(playing.bench.plane.world.events[event].phase)
    )
    playing.pass_real(15.5)

    assert phases == ["Started"]


def test_a_clock_that_plays_is_looked_at_when_something_is_due_and_not_later():
    playing = Playing()
    playing.bench.ask(Cause.RESTART, "solo")

    playing.pass_real(14.9)

    assert abs(playing.keeper.until_next(5.0) - 0.1) < 0.001
    playing.keeper.play_until(NOON + timedelta(minutes=14, seconds=57), lambda: None)
    assert abs(playing.keeper.until_next(5.0) - 0.05) < 0.001


def test_a_clock_that_stands_at_its_stop_is_looked_at_now_and_then():
    playing = Playing()
    playing.bench.ask(Cause.RESTART, "solo")
    playing.keeper.play_until(NOON + timedelta(minutes=14), lambda: None)

    playing.pass_real(20)

    assert playing.keeper.until_next(0.05) == 0.05
