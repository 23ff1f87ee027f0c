"""Plays in real time keep their announcements, by the service's clock and by the client's."""

from __future__ import annotations

import json
import threading
import time
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from forewarn.scenario.play.player import Player
from tests.running import call
from tests.scenario.stage import built_in, play

RATE = 60
TARGET = "/metadata/scheduledevents?api-version=2020-07-01"


class Sight(NamedTuple):
    """A document with an event: when it was seen here, what time it was there, and what it said."""

    seen_at: float
    dated: datetime
    status: str
    not_before: str


class Onlooker:
    """A client of its own, in real time, that is in on nothing: it polls a hundred times a second at most."""

    def __init__(self) -> None:
        self.sights: list[Sight] = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._has_left = threading.Event()
        self._is_over = threading.Event()  # never set: something to wait on

    def join(self, player: Player) -> None:
        self._player = player
        player.emulator.service.plane.committed.subscribe(lambda _: self._begin())

    def _begin(self) -> None:
        if not self._thread.is_alive() and not self._has_left.is_set() and self._player.emulator.service.metadata:
            self._has_left.set()
            self._thread.start()

    def _look(self) -> None:
        host, port = self._player.emulator.service.metadata[0]
        while not self.sights or self.sights[-1].status != "gone":
            reply = call(host, port, "GET", TARGET, None, {"Metadata": "true"})
            events = json.loads(reply.body)["Events"]
            self._note(reply.headers["date"], events)
            self._is_over.wait(0.01)

    def _note(self, date: str, events: list[dict[str, str]]) -> None:
        if events or self.sights:
            status = events[0]["EventStatus"] if events else "gone"
            until = events[0]["NotBefore"] if events else ""
            self.sights.append(Sight(time.monotonic(), parsedate_to_datetime(date), status, until))

    def leave(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def first(sights: list[Sight], status: str) -> Sight:
    return next(sight for sight in sights if sight.status == status)


def test_notice_at_sixty_times_real_time_is_kept_to_within_a_second(figures):
    """By the service's own clock to the second, and by a stranger's real one never a second too early."""
    onlooker, heard = Onlooker(), list[tuple[float, bytes]]()

    played = play(
        built_in("user-redeploy"),
        onlooker.join,
        rate=RATE,
        guest="db-0",
        metadata=("127.0.0.1", 0),
        on_bytes=lambda _name, data: heard.append((time.monotonic(), data)),
    )
    onlooker.leave()

    assert played.differences == []
    scripted = [_sight(at, data) for at, data in heard if b"EventStatus" in data]
    for sights in (scripted, onlooker.sights):
        scheduled, started = first(sights, "Scheduled"), first(sights, "Started")
        not_before = parsedate_to_datetime(scheduled.not_before)
        assert {sight.not_before for sight in sights} <= {scheduled.not_before, ""}
        assert all(sight.dated >= not_before for sight in sights if sight.status == "Started")
        real = started.seen_at - scheduled.seen_at
        announced = (not_before - scheduled.dated).total_seconds() / RATE
        figures(f"announced {announced:.3f} s of real time ahead, seen after {real:.3f} s")
        assert announced - 1 < real < announced + 30, "a busy machine may be late, and never early"
    assert first(scripted, "Started").dated == parsedate_to_datetime(scripted[0].not_before)
    assert parsedate_to_datetime(scripted[0].not_before) - scripted[0].dated == timedelta(minutes=10)


def _sight(at: float, data: bytes) -> Sight:
    head, _, body = data.partition(b"\r\n\r\n")
    date = next(line[6:] for line in head.decode().split("\r\n") if line.startswith("Date: "))
    event = json.loads(body)["Events"][0]
    return Sight(at, parsedate_to_datetime(date), event["EventStatus"], event["NotBefore"])
