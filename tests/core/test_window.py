"""When a window is open: by the clocks of its time zone, but not on dark days."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forewarn.core.window import DAYS, Window
from tests.core.worlds import NOON, minutes, row

HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")
NIGHTS = Window(time(22), 4 * HOUR, ("Sat", "Sun"), BERLIN)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2026-03-02 12:00", "2026-03-07 21:00"),  # Monday: on Saturday
        ("2026-03-07 20:59", "2026-03-07 21:00"),
        ("2026-03-07 23:00", "2026-03-07 23:00"),  # it is open
        ("2026-03-08 00:59", "2026-03-08 21:00"),  # too late for an hour of work: on Sunday
        ("2026-03-28 23:30", "2026-03-28 23:30"),  # the night of the change to summer time
        ("2026-03-29 12:00", "2026-03-29 20:00"),  # an hour earlier from here on, as the world counts
    ],
)
def test_a_window_opens_by_the_clocks_of_its_own_time_zone(now: str, opens: str):
    assert NIGHTS.fit(at(now), HOUR) == at(opens)


def test_a_window_stays_open_past_midnight():
    assert NIGHTS.is_open(at("2026-03-08 00:30"), minutes(30))
    assert not NIGHTS.is_open(at("2026-03-08 00:30"), minutes(31))


@pytest.mark.parametrize(
    ("closing", "hours"),
    [("2026-03-29 04:00", 7), ("2026-04-05 04:00", 8), ("2026-10-25 05:00", 9)],
    ids=["to summer time", "a usual night", "to winter time"],
)
def test_a_window_closes_by_the_clocks_of_its_own_time_zone_though_they_are_changed_meanwhile(
    closing: str, hours: int
):
    night = Window(time(22), 8 * HOUR, ("Sat",), BERLIN)

    assert at(closing).astimezone(BERLIN).time() == time(6)
    assert night.is_open(at(closing) - hours * HOUR, hours * HOUR)
    assert not night.is_open(at(closing) - hours * HOUR, hours * HOUR + minutes(1))
    assert not night.is_open(at(closing), minutes(30))


@pytest.mark.parametrize(
    ("opens", "length", "first", "last"),
    [
        ((1, 30), minutes(60), "00:30", "01:00"),  # would close at 02:30, which there is not
        ((2, 30), minutes(15), None, None),  # is never there
        ((2, 30), minutes(60), "01:00", "01:30"),  # opens when clocks are past 02:30
    ],
)
def test_hours_that_clocks_are_put_forward_past_are_never_open(
    opens: tuple[int, int], length: timedelta, first: str | None, last: str | None
):
    window = Window(time(*opens), length, timezone=BERLIN)
    found = window.fit(at("2026-03-29 00:00"), minutes(1))

    if first is None or last is None:
        assert found == at("2026-03-30 00:30")
    else:
        begin, end = at(f"2026-03-29 {first}"), at(f"2026-03-29 {last}")
        assert found == begin
        assert window.is_open(begin, end - begin)
        assert not window.is_open(begin, end - begin + minutes(1))


def test_a_window_that_opens_every_day_for_a_whole_day_never_closes():
    always = Window(time(6), 24 * HOUR)
    though_clocks_are_changed = Window(time(2, 30), 24 * HOUR, timezone=BERLIN)

    assert always.fit(NOON, timedelta(days=100)) == NOON
    assert though_clocks_are_changed.fit(NOON, timedelta(days=300)) == NOON


def test_nothing_is_touched_on_a_blackout_date_not_even_after_midnight():
    dark = Window(time(22), 4 * HOUR, blackout=(date(2026, 3, 3),))

    assert dark.fit(at("2026-03-02 22:00"), 2 * HOUR) == at("2026-03-02 22:00")
    assert dark.fit(at("2026-03-02 22:00"), 3 * HOUR) == at("2026-03-04 22:00")
    assert dark.fit(at("2026-03-03 10:00"), minutes(1)) == at("2026-03-04 00:00")  # begun on the dark day


def test_a_window_that_is_too_short_never_fits():
    assert Window(time(22), HOUR).fit(NOON, 2 * HOUR) is None


@settings(deadline=None, derandomize=True, database=None)
@given(
    st.integers(0, 366 * 24 * 60),
    st.integers(0, 23),
    st.integers(1, 47),
    st.sets(st.sampled_from(DAYS), min_size=1),
    st.integers(0, 300),
    st.integers(0, 3000),
)
def test_an_earlier_wish_never_fits_later(moment, opens, length, days, needed, later):
    window = Window(time(opens), length * minutes(30), tuple(days), BERLIN)
    first = window.fit(NOON + minutes(moment), minutes(needed))
    second = window.fit(NOON + minutes(moment + later), minutes(needed))

    if first is not None and second is not None:
        assert first <= second
        assert window.is_open(first, minutes(needed))


CHRISTMAS = date(2026, 12, 25)


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        row("every day", Window(time(22), 4 * HOUR), "every day from 22:00 for 4 h (UTC)"),
        row("every day, one by one", Window(time(22), HOUR, DAYS[::-1]), "every day from 22:00 for 1 h (UTC)"),
        row("some days, in its own zone", NIGHTS, "Sat, Sun from 22:00 for 4 h (Europe/Berlin)"),
        row("hours and minutes", Window(time(6, 5), minutes(90)), "every day from 06:05 for 1 h 30 min (UTC)"),
        row("minutes alone", Window(time(6), minutes(45)), "every day from 06:00 for 45 min (UTC)"),
        row(
            "dark days",
            Window(time(6), HOUR, blackout=(CHRISTMAS,)),
            "every day from 06:00 for 1 h (UTC), but not on 2026-12-25",
        ),
    ],
)
def test_a_window_is_shown(window: Window, shown: str):
    assert window.in_words() == shown


@pytest.mark.parametrize(
    ("dark", "length", "fits"),
    [
        row("one after the other", ["2026-03-03", "2026-03-04"], 12 * HOUR, "2026-03-05 00:00"),
        row("in no order", ["2026-03-04", "2026-03-03"], 12 * HOUR, "2026-03-05 00:00"),
        row("between which it is open", ["2026-03-03", "2026-03-05"], 12 * HOUR, "2026-03-04 00:00"),
        row(
            "between which it is open, but not for long enough",
            ["2026-03-03", "2026-03-05"],
            25 * HOUR,
            "2026-03-06 00:00",
        ),
        row("long before it opens", ["2026-02-01"], 12 * HOUR, "2026-03-02 20:00"),
        row("that end when it opens", ["2026-03-02"], 12 * HOUR, "2026-03-03 00:00"),
    ],
)
def test_a_window_of_a_week_opens_after_dark_days(dark: list[str], length: timedelta, fits: str):
    week = Window(time(20), timedelta(days=7), ("Mon",), blackout=tuple(map(date.fromisoformat, dark)))

    assert week.fit(at("2026-03-02 20:00"), length) == at(fits)


def test_a_window_is_found_a_year_ahead_and_no_further():
    once = Window(
        time(12), HOUR, ("Mon",), blackout=tuple(date(2026, 3, 2) + timedelta(days=7 * n) for n in range(52))
    )
    never = Window(
        time(12), HOUR, ("Mon",), blackout=tuple(date(2026, 3, 2) + timedelta(days=7 * n) for n in range(60))
    )

    assert once.fit(NOON, HOUR) == NOON + timedelta(days=364)
    assert never.fit(NOON, HOUR) is None
