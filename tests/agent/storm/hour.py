"""One hour of storm, and what came of it."""

from __future__ import annotations

import logging
import random
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forewarn.agent.clock import Clock
from forewarn.agent.endpoints import Endpoints
from forewarn.agent.journal import Journal
from forewarn.agent.keeper import Keeper
from forewarn.agent.messages import Named, Nudge
from forewarn.agent.metadata import Metadata
from forewarn.agent.names import Names
from forewarn.agent.settings import Settings
from forewarn.agent.waking import Waker
from forewarn.agent.watching import Watcher
from tests.agent.storm.endpoint import Endpoint
from tests.agent.storm.hours import Hours, Inbox, WaitingSelector
from tests.agent.storm.laws import LONG_ENOUGH_SECONDS, Hour, broken, visible_seconds
from tests.agent.storm.platform import MINE, draw_platform
from tests.agent.storm.plays import Plays, settings
from tests.agent.storm.weather import Weather

_AFTER_SECONDS = 3600.0  # of fine weather: the last event takes half an hour, and what was done is undone
_STOP_SECONDS = 60.0


@dataclass(frozen=True)
class Outcome:
    """What came of a seed."""

    seed: int
    problems: list[str]
    counts: Counter[str]
    trace: tuple[object, ...]  # the same for the same seed


class _Agent:
    """The real watcher, keeper and journal, in threads of their own, on virtual time."""

    def __init__(self, told: Settings, hours: Hours, plays: Plays, seed: int) -> None:
        self._told = told
        self._hours = hours
        self._plays = plays
        self._stop = threading.Event()
        self._clock = Clock(hours.date, hours.monotonic, hours.monotonic)
        self._metadata = Metadata(Endpoints(told.endpoints), told, hours.monotonic)
        dice = random.Random(f"jitter {seed}")
        self._inbox = Inbox(hours)
        watcher = Watcher(
            self._metadata,
            self._clock,
            told,
            self._inbox.send,
            self._inbox.send,
            lambda: dice.uniform(0.9, 1.1),
            lambda look_up: Waker(look_up, hours.monotonic, WaitingSelector(hours)),
        )
        self._look_again = watcher.look_again
        self.threads = [threading.Thread(target=self._keep, name="keeper", daemon=True)]
        self._is_made = threading.Event()
        self.threads[0].start()
        assert self._is_made.wait(60), "the keeper could not be made"
        self._keeper.send(Named(MINE))
        self.threads.append(threading.Thread(target=watcher.run, args=(self._stop,), name="watcher", daemon=True))
        self.threads[1].start()

    def _keep(self) -> None:
        journal = Journal(self._told.state_dir)
        self._keeper = Keeper(
            self._told,
            self._metadata,
            self._clock,
            Names(),
            journal,
            find=self._plays.find,
            boot="b-1",
            inbox=self._inbox,
            look_again=self._look_again,
        )
        self._is_made.set()
        self._keeper.run(self._stop)
        journal.close()

    def died(self) -> list[str]:
        return [thread.name for thread in self.threads if not thread.is_alive()]

    def stop(self) -> None:
        self._stop.set()
        self._keeper.send(Nudge())
        self._look_again()

    @property
    def has_closed_all(self) -> bool:
        return all(case.closed_at is not None for case in self._keeper.standing.cases)


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


def run_hour(seed: int, seconds: float = 3600, **other: Any) -> Outcome:
    """An hour, or less, the fine weather after it, and what is wrong with it. `other` settings plant bugs."""
    log, records = logging.getLogger("forewarn.agent"), _Records()
    before = log.propagate, log.level
    log.addHandler(records)
    log.propagate = False
    log.setLevel(logging.INFO)
    try:
        with tempfile.TemporaryDirectory() as directory:
            return _run(seed, seconds, Path(directory), records.records, other)
    finally:
        log.removeHandler(records)
        log.propagate, log.level = before


def _run(
    seed: int, seconds: float, place: Path, records: list[logging.LogRecord], other: dict[str, Any]
) -> Outcome:
    hours, weather = Hours(), Weather(seed, seconds)
    platform = draw_platform(random.Random(f"platform {seed}"), seconds)
    endpoint = Endpoint(hours, platform, weather, holds=bool(seed % 2))
    plays = Plays(hours, seed)
    try:
        agent = _Agent(replace(settings(endpoint.url, place), **other), hours, plays, seed)
        hours.pass_until(seconds)
        hours.pass_until(max(each.gone_at for each in platform.happenings) + 10)
        hours.pass_until(seconds + _AFTER_SECONDS, lambda: agent.has_closed_all)
        died = agent.died()
        agent.stop()
        hours.pass_until(
            hours.monotonic() + _STOP_SECONDS, lambda: not any(thread.is_alive() for thread in agent.threads)
        )
    finally:
        hours.close()
        endpoint.close()
    journal = Journal(place)
    cases = {case.id: case for case in journal.load()}
    journal.close()
    hour = Hour(
        platform.happenings, weather.spells, endpoint.seen, plays.begun, plays.played, cases, records, died
    )
    return Outcome(seed, broken(hour), _counts(hour), _trace(hour))


def _counts(hour: Hour) -> Counter[str]:
    counts = Counter({f"answer: {kind or 'fine'}": count for kind, count in hour.seen.faults.items()})
    counts["events"] = len(hour.happenings)
    counts["events seen"] = len(hour.cases)
    counts["events that nobody could see for 3 s"] = sum(
        visible_seconds(each, hour) < LONG_ENOUGH_SECONDS for each in hour.happenings
    )
    counts["approvals taken"] = sum(each.is_told for each in hour.seen.approvals)
    counts["approvals whose answer was lost"] = sum(
        each.is_accepted and not each.is_told for each in hour.seen.approvals
    )
    counts["steps that failed"] = sum(not each.is_done for each in hour.played)
    counts.update(f"ended: {case.ending}" for case in hour.cases.values())
    return counts


def _trace(hour: Hour) -> tuple[object, ...]:
    approvals = tuple((each.event_id, round(each.at, 6)) for each in hour.seen.approvals)
    played = tuple(sorted((each.event_id, each.step, each.direction, each.began_at) for each in hour.played))
    return hour.seen.questions, approvals, played
