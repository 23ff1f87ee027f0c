"""Which requests a rule strikes, and what is said of a rule that cannot be."""

from __future__ import annotations

import pytest

from forewarn.core.fault import FORMS, About, Fault, FaultRule, Target
from forewarn.core.refusal import Refusal
from forewarn.wire.fault import parse_fault


def rule(**said: object) -> FaultRule:
    parsed = parse_fault({"name": "status", **said})
    assert isinstance(parsed, FaultRule), parsed
    return parsed


def struck(asked: FaultRule, guest: str = "web-0", most: int = 20) -> list[int]:
    return [number for number in range(1, most + 1) if asked.hits(guest, number)]


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ({}, list(range(1, 21))),
        ({"count": 3}, [1, 2, 3]),
        ({"every": 7}, [7, 14]),
        ({"name": "first_call"}, [1]),
    ],
    ids=["always", "the first three", "every seventh", "the first call"],
)
def test_a_rule_strikes_as_often_as_it_says(said: dict[str, object], numbers: list[int]):
    assert struck(rule(**said)) == numbers


def test_a_rate_is_drawn_from_seed_guest_and_number_alone():
    drawn = struck(rule(rate=0.3, seed=7), most=1000)

    assert drawn == struck(rule(rate=0.3, seed=7), most=1000)
    assert drawn != struck(rule(rate=0.3, seed=8), most=1000)
    assert drawn != struck(rule(rate=0.3, seed=7), guest="web-1", most=1000)
    assert drawn[:5] == [1, 4, 5, 9, 11]  # in every version of Python, on every machine
    assert 250 < len(drawn) < 350


def test_a_rate_of_one_strikes_always():
    assert struck(rule(rate=1)) == list(range(1, 21))


def test_a_rule_is_asked_only_about_what_it_concerns():
    of_one = rule(vm="web-0", on="approval")
    of_polls = rule(name="lost")

    assert of_one.concerns("web-0", About.APPROVAL)
    assert not of_one.concerns("web-0", About.DOCUMENT)
    assert not of_one.concerns("web-1", About.APPROVAL)
    assert of_polls.concerns("web-1", About.DOCUMENT)
    assert not of_polls.concerns("web-1", About.APPROVAL)
    assert not rule(name="early_start").concerns("web-0", About.DOCUMENT)


def test_every_fault_has_its_form_and_can_be_asked_for_by_name_alone():
    assert set(FORMS) == set(Fault)
    for fault in Fault:
        made = rule(name=fault)
        assert made.options == {name: option.default for name, option in FORMS[fault].options.items()}
        assert made.is_of_engine is (FORMS[fault].target is Target.EVENT)
        assert str(fault) in made.title


def test_a_member_that_is_null_counts_as_not_given():
    assert parse_fault({"name": "delay", "vm": None, "rate": None, "seconds": None}) == rule(name="delay")


def test_members_may_be_a_list_or_words_with_commas():
    listed = rule(name="missing_members", members=["Events", "NotBefore"])

    assert listed == rule(name="missing_members", members="Events, NotBefore")
    assert listed.options == {"members": ("Events", "NotBefore")}


ALL = (
    "status, delay, slow_body, reset, closed, truncated, null_events, missing_members, proxy_page, stale, "
    "duplicated, lost, first_call, clock_skew, early_start or shortened_notice"
)


MEMBERS = (
    "DocumentIncarnation, Events, EventId, EventStatus, EventType, ResourceType, Resources, NotBefore, "
    "Description, EventSource or DurationInSeconds"
)


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ({}, "A fault needs a name.", f"It can be {ALL}."),
        ({"name": "stauts"}, "There is no fault 'stauts'. Did you mean status?", f"It can be {ALL}."),
        ({"name": 7}, "There is no fault 7.", f"It can be {ALL}."),
        (
            {"name": "status", "cod": 500},
            "status has no option 'cod'. Did you mean code?",
            "It takes code, retry_after, on, vm, rate, count, every or seed.",
        ),
        (
            {"name": "lost", "seconds": 5},
            "lost has no option 'seconds'.",
            "It takes vm, rate, count, every or seed.",
        ),
        (
            {"name": "first_call", "every": 2},
            "first_call takes no every: it is the first call of each guest.",
            "Leave it out, or use delay instead.",
        ),
        (
            {"name": "status", "rate": 0.5, "every": 2},
            "rate and every do not go together.",
            "Give one of them, or none to strike always.",
        ),
        (
            {"name": "status", "code": 418},
            "status: code cannot be 418.",
            "It can be 400, 404, 410, 429, 500 or 503.",
        ),
        ({"name": "status", "code": "x"}, "status: code cannot be 'x'.", "It is a whole number."),
        ({"name": "status", "rate": 1.5}, "status: rate cannot be 1.5.", "It is a number from 0.0001 to 1."),
        ({"name": "status", "rate": True}, "status: rate cannot be True.", "It is a number from 0.0001 to 1."),
        (
            {"name": "status", "count": 0},
            "status: count cannot be 0.",
            "It is a number from 1 to 1000000.",
        ),
        (
            {"name": "status", "count": 1.5},
            "status: count cannot be 1.5.",
            "It is a whole number from 1 to 1000000.",
        ),
        ({"name": "status", "vm": ""}, "status: vm cannot be ''.", "It is a name."),
        (
            {"name": "status", "on": "poll"},
            "status: on cannot be 'poll'.",
            "It can be any, document, approval or instance.",
        ),
        ({"name": "delay", "seconds": 601}, "delay: seconds cannot be 601.", "It is a number from 0.01 to 600."),
        (
            {"name": "delay", "seconds": float("nan")},
            "delay: seconds cannot be nan.",
            "It is a number from 0.01 to 600.",
        ),
        (
            {"name": "delay", "seconds": 10**400},
            f"delay: seconds cannot be {10**400}.",
            "It is a number from 0.01 to 600.",
        ),
        ({"name": "reset", "carried_out": 1}, "reset: carried_out cannot be 1.", "It is true or false."),
        (
            {"name": "missing_members", "members": "NotBfore"},
            "missing_members: members cannot have 'NotBfore'.",
            f"Did you mean NotBefore? They are {MEMBERS}.",
        ),
    ],
    ids=lambda value: str(value)[:60] if isinstance(value, dict) else "",
)
def test_a_rule_that_cannot_be_is_refused_in_a_sentence(said: dict[str, object], message: str, hint: str):
    refusal = parse_fault(said)

    assert isinstance(refusal, Refusal)
    assert (refusal.message, refusal.hint) == (message, hint)
