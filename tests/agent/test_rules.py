from __future__ import annotations

from datetime import datetime, time, timedelta, timezone

import pytest

from forewarn.agent.events import Event
from forewarn.agent.policy import LOG_ONLY, Profile, Rule, Whose
from forewarn.agent.rule_order import covers
from forewarn.agent.rules import choose, explain

DRAIN = Profile("drain")
PROFILES = {"drain": DRAIN}
EVENT = Event(
    "4f1c9a02",
    "Reboot",
    resources=("web-1", "WEB-2"),
    not_before=datetime(2026, 3, 2, 23, 30, tzinfo=timezone.utc),
    source="Platform",
    description="Host server is undergoing maintenance.",
    duration_seconds=5,
)


def rule(**values: object) -> Rule:
    return Rule("drain", **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "objection"),
    [
        (rule(), ""),
        (rule(types=("reboot", "Freeze")), ""),
        (rule(types=("Freeze", "Preempt")), "its type is Reboot, not Freeze or Preempt"),
        (rule(sources=("platform",)), ""),
        (rule(sources=("User",)), "its source is Platform, not User"),
        (rule(max_duration_seconds=5), ""),
        (rule(max_duration_seconds=4), "its duration is 5 s, not 4 s or less"),
        (rule(min_duration_seconds=5), ""),
        (rule(min_duration_seconds=6), "its duration is 5 s, not 6 s or more"),
        (rule(min_resources=3), "it names 2 VMs, not 3 or more"),
        (rule(max_resources=1), "it names 2 VMs, not 1 or fewer"),
        (rule(resources=("web-[2-9]",)), ""),
        (rule(resources=("db-*", "mail")), "no VM that it names fits db-* or mail"),
        (rule(description="HOST .* maintenance"), ""),
        (rule(description="disk"), "its description has no 'disk'"),
        (rule(between=(time(22), time(6))), ""),
        (rule(between=(time(6), time(22))), "its NotBefore is at 23:30 here, not between 06:00 and 22:00"),
        (rule(whose=Whose.OTHERS), "it is for events of other VMs, and this one names this VM"),
        (rule(whose=Whose.ANY), ""),
    ],
)
def test_a_rule_fits_or_says_why_not(asked: Rule, objection: str):
    said = explain(EVENT, "web-1", [asked], PROFILES, timezone.utc)[0]

    expected = f"rule 1: no, {objection}." if objection else "rule 1: yes. It leads to profile drain."
    assert said == expected


@pytest.mark.parametrize("duration", [-1, None], ids=["the platform does not know", "the version does not say"])
def test_a_duration_that_is_not_known_counts_as_long(duration: int | None):
    event = Event("a", "Freeze", duration_seconds=duration, resources=("web-1",))
    short, long = rule(name="short", max_duration_seconds=9), rule(name="long", min_duration_seconds=10)

    chosen = choose(event, "web-1", [short, long], PROFILES)

    assert chosen.rule is long


def test_a_rule_is_for_events_of_this_vm_unless_it_says_otherwise():
    assert choose(EVENT, "", [rule()], PROFILES).profile is LOG_ONLY
    assert choose(EVENT, "", [rule(whose=Whose.OTHERS)], PROFILES).profile is DRAIN


def test_the_first_rule_that_fits_decides():
    rules = [rule(types=("Freeze",)), rule(name="second", line=7), rule(name="third")]

    chosen = choose(EVENT, "web-1", rules, PROFILES)
    said = explain(EVENT, "web-1", rules, PROFILES)

    assert (chosen.profile, chosen.why) == (DRAIN, "rule second (line 7) fits")
    assert said == [
        "rule 1: no, its type is Reboot, not Freeze.",
        "rule second (line 7): yes. It leads to profile drain.",
        "1 more rule is not asked: the first that fits counts.",
    ]


def test_without_a_rule_that_fits_an_event_is_logged_and_that_is_all():
    none = choose(EVENT, "web-1", [], PROFILES)
    unfit = choose(EVENT, "web-1", [rule(types=("Freeze",))], PROFILES)

    assert (none.profile, none.why) == (LOG_ONLY, "there are no rules")
    assert (unfit.profile, unfit.why) == (LOG_ONLY, "no rule fits")


def test_the_time_of_day_is_that_of_this_machine():
    here = timezone(timedelta(hours=8))
    morning = rule(between=(time(7), time(8)))

    assert choose(EVENT, "web-1", [morning], PROFILES, here).profile is DRAIN
    assert choose(EVENT, "web-1", [morning], PROFILES, timezone.utc).profile is LOG_ONLY


def test_an_event_without_a_not_before_fits_no_time_of_day():
    event = Event("a", "Reboot", "Started", ("web-1",))

    said = explain(event, "web-1", [rule(between=(time(22), time(6)))], PROFILES)

    assert said[0] == "rule 1: no, it has no NotBefore that could lie between 22:00 and 06:00."


@pytest.mark.parametrize(
    ("earlier", "later", "is_covered"),
    [
        (rule(), rule(types=("Freeze",)), True),
        (rule(types=("Freeze",)), rule(), False),
        (rule(types=("freeze", "Reboot")), rule(types=("Freeze",)), True),
        (rule(types=("Freeze",)), rule(types=("Freeze", "Reboot")), False),
        (rule(), rule(whose=Whose.OTHERS), False),
        (rule(whose=Whose.ANY), rule(), True),
        (rule(max_duration_seconds=9), rule(max_duration_seconds=5), True),
        (rule(max_duration_seconds=9), rule(max_duration_seconds=10), False),
        (rule(max_duration_seconds=9), rule(), False),
        (rule(min_duration_seconds=5), rule(min_duration_seconds=9), True),
        (rule(min_resources=2), rule(min_resources=1), False),
        (rule(description="a"), rule(description="a"), True),
        (rule(description="a"), rule(description="ab"), False),
        (rule(between=(time(22), time(6))), rule(between=(time(23), time(5))), True),
        (rule(between=(time(22), time(6))), rule(between=(time(21), time(5))), False),
        (rule(between=(time(22), time(6))), rule(between=(time(23), time(7))), False),
        (rule(between=(time(22), time(6))), rule(), False),
    ],
)
def test_a_rule_covers_another_only_if_every_event_of_the_other_fits_it(
    earlier: Rule, later: Rule, *, is_covered: bool
):
    assert covers(earlier, later) is is_covered
