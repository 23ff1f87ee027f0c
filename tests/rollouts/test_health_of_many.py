"""Health checks of many sets: how many are asked at once, who is waited for, and who is told."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from unittest.mock import patch

from forewarn.control.health import HealthChecks
from forewarn.control.health_probes import ProbeTimeouts
from forewarn.core.health import NotYet
from tests.control.bench import NOON
from tests.rollouts.shop import SHORT, Shop, checks, said_by
from tests.running import wait_until


def test_no_more_checks_are_asked_at_once_than_a_machine_can_bear(shop: Shop):
    shop.may_answer.clear()
    found = HealthChecks(lambda _: shop.url, lambda: NOON, patience=ProbeTimeouts(address_seconds=20))
    before = threading.active_count()

    for number in range(300):
        found.ask({f"set-{number}": NOON})
    threads = [each for each in threading.enumerate() if each.name == "health check"]

    assert 0 < len(threads) <= 64
    assert before < threading.active_count()
    shop.may_answer.set()
    wait_until(lambda: not any(each.is_alive() for each in threads), "them to be answered")


def test_those_for_whom_there_is_no_thread_are_asked_as_soon_as_there_is_one(shop: Shop):
    shop.may_answer.clear()
    found = HealthChecks(lambda _: shop.url, lambda: NOON, patience=ProbeTimeouts(address_seconds=20))
    names = [f"set-{number}" for number in range(150)]
    for name in names:
        found.ask({name: NOON})

    shop.may_answer.set()

    wait_until(lambda: all(found.answer(name, NOON) is None for name in names), "all of them to have answered")
    assert len(shop.asked) == 150


def test_checks_that_are_waited_for_are_asked_all_at_once(shop: Shop):
    shop.may_answer.clear()
    found = HealthChecks(
        lambda _: shop.url, lambda: NOON, waits_for_answers=True, patience=ProbeTimeouts(address_seconds=20)
    )
    wanted = {f"set-{number}": NOON for number in range(20)}
    waiting = threading.Thread(target=found.ask, args=(wanted,))
    waiting.start()

    wait_until(lambda: len(shop.asked) == 20, "all of them to be asked")
    shop.may_answer.set()
    waiting.join(60)

    assert not waiting.is_alive()
    assert [found.answer(name, NOON) for name in wanted] == [None] * 20


def test_checks_that_hang_are_waited_for_together_and_not_one_after_the_other(shop: Shop):
    shop.may_answer.clear()
    found = checks(shop.url)
    wanted = {f"set-{number}": NOON for number in range(40)}

    began = time.monotonic()
    found.ask(wanted)
    took = time.monotonic() - began

    assert took < 40 * SHORT.address_seconds
    assert {found.answer(name, NOON) for name in wanted} == {
        f"the health check of {name} did not answer within 0.3 s" for name in wanted
    }


def test_when_the_last_one_is_well_it_is_told_so_that_nobody_has_to_look_again_and_again(shop: Shop):
    told = threading.Event()
    found = HealthChecks(lambda _: shop.url, lambda: NOON, all_answered=told.set)
    shop.may_answer.clear()
    for name in ("one", "two"):
        found.ask({name: NOON})
    wait_until(lambda: len(shop.asked) == 2, "them to be asked")
    was_told_too_early = told.is_set()
    shop.may_answer.set()

    assert told.wait(60)
    assert not was_told_too_early
    assert [found.answer(name, NOON) for name in ("one", "two")] == [None, None]


def test_one_that_is_not_well_is_not_told_so_that_it_is_not_asked_without_a_pause(shop: Shop):
    told = threading.Event()
    shop.status = 503
    found = HealthChecks(lambda _: shop.url, lambda: NOON, waits_for_answers=True, all_answered=told.set)

    assert said_by(found) == "the health check of web answered 503"
    assert not told.is_set()


def test_a_check_for_which_no_thread_can_be_started_is_asked_at_the_next_look(shop: Shop):
    found = checks(shop.url)
    with patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
        found.ask({"web": NOON})
        said = found.answer("web", NOON)

    assert said == "the health check of web has not answered yet"
    assert said_by(found) is None


def test_only_what_may_still_be_answered_is_not_yet_known(shop: Shop):
    clock = [NOON]
    shop.may_answer.clear()
    found = HealthChecks(lambda _: shop.url, lambda: clock[0], patience=ProbeTimeouts(address_seconds=20))
    names = [f"set-{number}" for number in range(65)]
    before = found.answer("set-0", NOON)
    for name in names:
        found.ask({name: NOON})
    wait_until(lambda: len(shop.asked) == 64, "as many to be asked as may be at once")
    asked = found.answer("set-0", NOON)
    clock[0] += timedelta(minutes=1)
    hanging, in_line = found.answer("set-0", NOON), found.answer("set-64", NOON)
    shop.may_answer.set()

    assert [isinstance(each, NotYet) for each in (before, asked, hanging, in_line)] == [False, True, False, True]
    assert in_line == "the health check of set-64 has not answered yet"
