"""The same scenario and seed give the same bytes, headers included, however time passes."""

from __future__ import annotations

import re

import pytest

from forewarn.scenario.file import library
from tests.scenario.stage import Played, built_in, play, read

_ID = re.compile(rb"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_TAG = re.compile(rb'ETag: "[^"]*"')


# Every fault that comes by chance, and none that takes time: a lot is drawn for each request and each event.
BY_CHANCE = """
[[vms]]
name = "app-0"

[[guests]]
vm = "app-0"
every = "5s"

[[guests]]
vm = "app-0"
name = "other"
every = "7s"
conditional = true

[[at]]
time = 0
do = "fault"
fault = "status"
options = { code = 503, rate = 0.3 }

[[at]]
time = 0
do = "fault"
fault = "stale"
options = { rate = 0.3 }

[[at]]
time = 0
do = "fault"
fault = "reset"
options = { rate = 0.1 }

[[at]]
time = 0
do = "fault"
fault = "shortened_notice"
options = { seconds = 60, rate = 0.5 }

[[at]]
time = "1m"
do = "maintain"
vm = "app-0"

[[at]]
time = "4m"
do = "restart"
vm = "app-0"

[[expect]]
time = "10m"
vm = "app-0"
count = 2
"""


def test_chance_repeats_with_the_same_seed_and_differs_with_another():
    one, again, other = (play(read(BY_CHANCE), seed=seed) for seed in (7, 7, 8))

    assert one.wire == again.wire
    assert one.texts == again.texts
    assert statuses(one) != statuses(other)
    assert {b"200", b"503"} <= set(statuses(one))


def statuses(played: Played) -> list[bytes]:
    return [data[9:12] for answers in played.wire.values() for data in answers]


@pytest.mark.parametrize("name", library.names())
def test_same_seed_gives_the_same_bytes(name: str):
    one, other = play(built_in(name), seed=7), play(built_in(name), seed=7)

    assert one.wire == other.wire
    assert one.texts == other.texts
    assert all(b"Date: " in data for answers in one.wire.values() for data in answers)


def test_another_seed_changes_only_ids():
    one, other = play(built_in("user-reboot"), seed=1).wire, play(built_in("user-reboot"), seed=2).wire

    ids = [set(_ID.findall(b"".join(wire["web-0"]))) for wire in (one, other)]
    plain = [[_TAG.sub(b"", _ID.sub(b"", data)) for data in wire["web-0"]] for wire in (one, other)]

    assert len(ids[0]) == len(ids[1]) == 1
    assert ids[0] != ids[1]
    assert plain[0] == plain[1]


def test_real_time_gives_the_same_bytes_as_virtual_time():
    at_once, playing = play(built_in("spot-eviction")), play(built_in("spot-eviction"), rate=600)

    assert playing.wire == at_once.wire
    assert playing.texts == at_once.texts


def test_seed_of_the_file_is_the_default():
    scenario = built_in("spot-eviction")

    assert play(scenario).wire == play(scenario, seed=scenario.head.seed).wire
