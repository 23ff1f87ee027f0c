"""How little the witness keeps, and that nothing is lost when many threads come at once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import pytest

from forewarn.core.phase import Phase
from forewarn.core.terms import Action, VmState
from forewarn.core.world import Changes
from forewarn.report.moment import Pace
from forewarn.report.notes import MOST_EVENTS
from tests.report.stage import Stage, approval


@pytest.fixture
def stage() -> Stage:
    return Stage()


def _size(stage: Stage) -> tuple[int, ...]:
    conduct = stage.conduct
    notes = stage.notes()
    return (
        len(conduct._open), len(conduct._ended), len(conduct._unknown), len(conduct._events_of),
        len(conduct._down), len(conduct._actions), len(conduct._bodies), len(conduct._guests),
        len(conduct._marks), len(notes.events),
        len(notes.timing(Pace.REAL).gaps), len(notes.presence.absences), len(notes.versions),
    )  # fmt: skip


def test_memory_stays_bounded_over_thousands_of_events(stage: Stage):
    guest = stage.guest()
    sizes = []
    for turn in range(3):
        for number in range(turn * 1100, turn * 1100 + 1100):
            event = stage.announce(f"E{number}", "web-0", "web-1")
            stage.poll(guest)
            stage.commit(replace(event, phase=Phase.STARTED))
            attempt = stage.touch("web-0", Action.REBOOT)
            stage.pass_time(60)
            stage.release(attempt)
            stage.commit(replace(event, phase=Phase.COMPLETED))
            stage.events.clear()
            stage.poll(guest)
        sizes.append(_size(stage))

    assert sizes[0] == sizes[1] == sizes[2]
    assert stage.notes().dropped["events"] == 3300 - MOST_EVENTS


def test_unknown_events_and_deleted_vms_are_dropped(stage: Stage):
    for number in range(2000):
        guest = stage.guest(f"vm-{number}")
        stage.approve(guest, f"STRANGE-{number}")
        stage.conduct.learn(Changes(1, (replace(guest.vm, state=VmState.DELETED),)))

    conduct = stage.conduct
    assert (len(conduct.heard()), len(conduct._unknown), len(conduct._bodies)) == (100, 512, 0)
    assert conduct.heard()[-1] == "vm-1999"


def test_unawaited_approvals_stay_bounded(stage: Stage):
    guest = stage.guest()
    for number in range(100):
        stage.conduct.leave(stage.ask(guest, approval(f"STRANGE-{number}")), "slow_body", is_done=True)

    assert len(stage.notes().events) == MOST_EVENTS


def test_events_of_other_vms_stay_bounded(stage: Stage):
    guest = stage.guest()
    stage.announce("OWN", "web-0")
    for number in range(500):
        stage.announce(f"E{number}", f"vm-{number}")

    stage.poll(guest)

    assert len(stage.notes().events) == MOST_EVENTS
    assert "OWN" in stage.notes().events


@dataclass
class Rounds:
    """What several threads do at once."""

    stage: Stage
    rounds: int = 300

    def ask(self) -> None:
        guest = self.stage.guest()
        for _ in range(self.rounds):
            self.stage.poll(guest)

    def happen(self) -> None:
        event = Stage().announce("E", "web-0")
        for number in range(self.rounds):
            for phase in (Phase.SCHEDULED, Phase.CANCELLED):
                self.stage.conduct.learn(Changes(1, (replace(event, id=f"E{number}", phase=phase),)))

    def read(self) -> None:
        for _ in range(self.rounds):
            self.stage.conduct.notes_on(self.stage.conduct.heard())


def test_concurrent_polls_events_and_readers_lose_nothing(stage: Stage):
    rounds = Rounds(stage)
    stage.poll(stage.guest())
    threads = [threading.Thread(target=act) for act in (rounds.happen, rounds.ask, rounds.read, rounds.ask)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert stage.notes().polls == 601
    assert len(stage.notes().events) + stage.notes().dropped["events"] == 300
