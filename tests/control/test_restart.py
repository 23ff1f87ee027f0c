"""A restart continues every operation where it was, and keeps the promises that were made before it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from forewarn.core.notice import Limits
from forewarn.core.operation import Attempt
from forewarn.core.phase import Phase
from forewarn.core.terms import Cause, Kind
from forewarn.drivers.base import NotBegun, Progress, Undecidable
from forewarn.drivers.simulated import SimulatedDriver
from tests.control.bench import NOON, WEB, Bench


def test_a_scheduled_operation_starts_at_its_not_before_whoever_was_there_before():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.plane.flush()
    bench.advance(minutes=5)

    bench.start_plane()
    bench.advance(minutes=9, seconds=59)
    before = bench.phases(restart)
    bench.advance(seconds=1)

    assert (before, bench.phases(restart)) == (["Scheduled"], ["Started"])


def test_an_action_that_was_under_way_is_waited_for_and_not_done_again():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))
    bench.advance(seconds=30)

    bench.start_plane()
    bench.advance(seconds=35)

    assert bench.phases(restart) == ["Completed"]
    assert bench.effects("solo") == ["reboot"]


def test_an_action_that_ended_while_nobody_watched_is_found_ended():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))
    bench.advance(seconds=30)
    bench.clock.move_to(NOON + timedelta(hours=3))

    bench.start_plane()

    assert bench.phases(restart) == ["Completed"]
    assert bench.effects("solo") == ["reboot"]


class Forgetful:
    """A driver that loses the first call: nothing was done, and `check` can prove it."""

    makes_machines = is_simulated = True

    def __init__(self, driver: SimulatedDriver) -> None:
        self._driver = driver
        self._has_lost = False

    def begin(self, attempt: Attempt) -> None:
        if not self._has_lost:
            self._has_lost = True
            raise ConnectionError("the call was lost")
        self._driver.begin(attempt)

    def check(self, attempt: Attempt) -> Progress:
        return self._driver.check(attempt)

    def close(self) -> None: ...


def test_an_attempt_that_is_proven_not_to_have_begun_begins_again_under_the_same_event():
    bench = Bench(WEB, wrap=Forgetful)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))

    bench.advance(seconds=70)

    assert bench.phases(restart) == ["Completed"]
    assert bench.effects("solo") == ["reboot"]


class Clueless:
    """A driver that cannot tell after a restart whether it had begun."""

    makes_machines = is_simulated = True

    def __init__(self, driver: SimulatedDriver) -> None:
        self._driver = driver
        self.is_confused = False

    def begin(self, attempt: Attempt) -> None:
        self._driver.begin(attempt)

    def check(self, attempt: Attempt) -> Progress:
        if self.is_confused:
            return Undecidable("it cannot be told whether the reboot began")
        return self._driver.check(attempt)

    def close(self) -> None: ...


def test_an_attempt_that_cannot_be_decided_fails_and_says_so_and_nothing_is_done_again():
    bench = Bench(WEB, wrap=Clueless)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))
    bench.advance(seconds=20)
    bench.driver.is_confused = True

    bench.start_plane()
    bench.advance(minutes=5)

    assert bench.phases(restart) == ["Failed"]
    assert "it cannot be told whether the reboot began" in bench.operation(restart).reason
    assert bench.effects("solo") == ["reboot"]


class Absent:
    """A driver whose hypervisor is away: nothing begins."""

    makes_machines = is_simulated = True

    def __init__(self, _: SimulatedDriver) -> None: ...

    def begin(self, attempt: Attempt) -> None:
        raise ConnectionError("the hypervisor is away")

    def check(self, attempt: Attempt) -> Progress:
        return NotBegun()

    def close(self) -> None: ...


def test_a_hypervisor_that_stays_away_fails_the_operation_after_the_limit():
    bench = Bench(WEB, Limits(action_limit=timedelta(minutes=2)), wrap=Absent)
    restart = bench.ask(Cause.RESTART, "solo")

    bench.advance(minutes=1)
    before = bench.operation(restart).phase
    bench.advance(minutes=1)

    assert (before, bench.operation(restart).phase) == (Phase.STARTED, Phase.FAILED)


def test_an_event_that_may_never_have_been_shown_gets_its_whole_notice_after_the_restart():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.clock.move_to(NOON + timedelta(minutes=14))

    bench.start_plane()

    assert bench.event(restart).not_before == NOON + timedelta(minutes=29)


def test_an_event_that_was_shown_keeps_its_not_before_over_a_restart():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.plane.flush()
    bench.clock.move_to(NOON + timedelta(minutes=14))

    bench.start_plane()

    assert bench.event(restart).not_before == NOON + timedelta(minutes=15)


def test_the_incarnation_and_the_documents_are_the_same_after_a_restart():
    bench = Bench(WEB)
    bench.turn_on("web-0", "solo")
    bench.maintain("host-0")
    bench.plane.flush()
    before = {name: panel.page.document for name, panel in bench.plane.board.panels.items()}

    bench.start_plane()

    assert {name: panel.page.document for name, panel in bench.plane.board.panels.items()} == before


# Silence.


def test_a_day_of_silence_turns_a_scope_off():
    bench = Bench(WEB)
    bench.turn_on("solo")

    bench.advance(hours=23, minutes=59)
    before = bench.plane.world.scopes["solo"].is_on
    bench.advance(minutes=1)

    assert (before, bench.plane.world.scopes["solo"].is_on) == (True, False)


def test_time_in_which_the_service_was_away_is_no_silence():
    bench = Bench(WEB)
    bench.turn_on("solo")
    bench.advance(hours=20)
    bench.clock.move_to(bench.clock.now() + timedelta(hours=10))

    bench.start_plane()
    bench.advance(hours=3, minutes=59)
    before = bench.plane.world.scopes["solo"].is_on
    bench.advance(minutes=1)

    assert (before, bench.plane.world.scopes["solo"].is_on) == (True, False)


def test_the_incarnation_goes_on_counting_when_a_scope_comes_on_again():
    bench = Bench(WEB)
    bench.turn_on("solo")
    bench.maintain("host-0")
    bench.advance(hours=25)
    before = bench.plane.world.scopes["solo"]

    bench.turn_on("solo")

    after = bench.plane.world.scopes["solo"]
    assert (after.incarnation, after.generation) == (before.incarnation, before.generation)


def test_a_setting_lets_the_incarnation_begin_again_under_another_generation():
    bench = Bench(WEB, Limits(resets_incarnation=True))
    bench.turn_on("solo")
    bench.maintain("host-0")
    bench.advance(hours=25)
    before = bench.plane.world.scopes["solo"]

    bench.turn_on("solo")

    after = bench.plane.world.scopes["solo"]
    assert (before.incarnation, after.incarnation) == (4, 1)
    assert after.generation != before.generation


# Clock steps.


def test_a_step_ahead_does_not_shorten_a_notice():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")

    bench.clock.step(timedelta(hours=1))
    bench.advance(minutes=14, seconds=59)
    before = bench.phases(restart)
    bench.advance(seconds=1)

    assert (before, bench.phases(restart)) == (["Scheduled"], ["Started"])


def test_after_a_step_back_nothing_starts_before_its_not_before_by_the_wall_clock():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")

    bench.clock.step(-timedelta(minutes=10))
    bench.advance(minutes=24, seconds=59)
    before = bench.phases(restart)
    bench.advance(seconds=1)

    assert (before, bench.phases(restart)) == (["Scheduled"], ["Started"])


def test_a_step_while_the_service_was_away_is_noticed_by_what_has_really_elapsed():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.plane.flush()
    bench.clock.move_to(NOON + timedelta(minutes=5))
    bench.clock.step(timedelta(hours=2))

    bench.start_plane()
    bench.advance(minutes=9, seconds=59)
    before = bench.phases(restart)
    bench.advance(seconds=1)

    assert (before, bench.phases(restart)) == (["Scheduled"], ["Started"])


def test_a_step_back_does_not_keep_a_started_operation_waiting():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.approve("solo", bench.event(restart))

    bench.clock.step(-timedelta(hours=1))
    bench.advance(seconds=66)

    assert bench.effects("solo") == ["reboot"]


def test_the_first_document_of_a_scope_is_the_first_whatever_has_happened_there_before():
    bench = Bench(WEB)
    bench.maintain("host-2")
    bench.advance(hours=1)

    bench.turn_on("web-2")

    assert bench.plane.board.panels["web"].page.document.incarnation == 1


@pytest.mark.parametrize("back", [timedelta(hours=1), timedelta(days=1)])
def test_a_step_back_does_not_hide_that_an_action_has_ended(back: timedelta):
    bench = Bench(WEB)
    restart = bench.ask(Cause.RESTART, "solo")
    bench.advance(seconds=30)

    bench.clock.step(-back)
    bench.advance(seconds=35)

    assert bench.operation(restart).phase is Phase.COMPLETED


def test_a_step_back_does_not_lengthen_the_time_that_an_action_is_given():
    bench = Bench(WEB, Limits(action_limit=timedelta(minutes=2)), wrap=Absent)
    restart = bench.ask(Cause.RESTART, "solo")
    bench.advance(minutes=1)

    bench.clock.step(-timedelta(hours=2))
    bench.advance(seconds=61)

    assert bench.operation(restart).phase is Phase.FAILED
    assert bench.operation(restart).reason == "solo: no outcome after 120 s"


def test_steps_too_small_to_notice_add_up_and_do_not_eat_a_notice():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")

    for _ in range(600):
        bench.clock.step(timedelta(seconds=0.9))
        bench.advance(seconds=1)

    assert bench.phases(restart) == ["Scheduled"]


def test_steps_too_small_to_notice_add_up_over_restarts_too():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.plane.flush()

    for _ in range(100):
        bench.clock.step(timedelta(seconds=0.9))
        bench.advance(seconds=8)
        bench.start_plane()

    assert bench.phases(restart) == ["Scheduled"]


def test_a_step_ahead_is_no_silence_and_no_time_out():
    bench = Bench(WEB)
    bench.turn_on("solo")

    bench.clock.step(timedelta(days=2))
    bench.advance(hours=23)

    assert bench.plane.world.scopes["solo"].is_on


def test_an_event_made_after_a_step_has_the_notice_of_its_kind_by_the_new_time():
    bench = Bench(WEB)
    bench.turn_on("solo")

    bench.clock.step(timedelta(hours=1))
    restart = bench.ask(Cause.RESTART, "solo")

    assert bench.event(restart).not_before - bench.clock.now() == bench.limits.least_notice[Kind.REBOOT]
    bench.advance(minutes=15)
    assert bench.phases(restart) == ["Started"]


def test_a_step_of_the_clock_that_is_first_seen_when_polls_are_written_does_not_eat_the_notice():
    bench = Bench(WEB)
    bench.turn_on("solo")
    restart = bench.ask(Cause.RESTART, "solo")
    bench.clock.step(timedelta(hours=1))

    bench.plane.flush()
    bench.start_plane()
    bench.advance(minutes=14)

    assert bench.operation(restart).phase is Phase.SCHEDULED
    bench.advance(minutes=2)
    assert bench.operation(restart).phase is not Phase.SCHEDULED
