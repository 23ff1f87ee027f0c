"""The same seed and the same requests: the same faults, and the same bytes."""

from __future__ import annotations

from typing import Any

import pytest

from forewarn.control.commands.faults import add_fault
from forewarn.control.commands.fleet import apply_fleet
from forewarn.control.commands.guests import first_poll
from forewarn.control.commands.vms import act_on_vm
from forewarn.core.fault import FaultRule
from forewarn.core.terms import Cause
from forewarn.emulator import Emulator
from forewarn.wire.fault import parse_fault
from forewarn.wire.fleet_file import read_json
from tests.edge.wire import GET
from tests.fleets import SMALL
from tests.running import call

RULES: list[dict[str, Any]] = [
    {"name": "shortened_notice", "rate": 0.5, "seconds": 60},
    {"name": "early_start", "rate": 0.5, "seconds": 30},
    {"name": "status", "rate": 0.2, "code": 500},
    {"name": "lost", "rate": 0.3},
    {"name": "duplicated", "rate": 0.3},
    {"name": "truncated", "rate": 0.2},
    {"name": "stale", "rate": 0.2},
    {"name": "clock_skew", "rate": 0.3, "seconds": -90},
    {"name": "missing_members", "every": 5},
]


def polls(seed: int) -> list[tuple[int, dict[str, str], bytes]]:
    """Two guests poll through three restarts; all that they are answered, byte by byte."""
    answers = []
    with Emulator(seed=1) as emulator:
        plane = emulator.service.plane
        emulator.on_plane(apply_fleet, plane, read_json(SMALL).spec, "test")
        for said in RULES:
            rule = parse_fault({**said, "seed": seed})
            assert isinstance(rule, FaultRule), rule
            emulator.on_plane(add_fault, plane, rule, "test")
        port = emulator.service.metadata[0][1]
        for number in range(3):
            for name, address in (("web-0", "127.0.1.1"), ("web-1", "127.0.1.2")):
                emulator.on_plane(first_poll, plane, name)
                for _ in range(10):
                    reply = call(
                        "127.0.0.1",
                        port,
                        "GET",
                        GET.split()[1].decode(),
                        headers={"Metadata": "true"},
                        source=address,
                    )
                    answers.append((reply.status, reply.headers, reply.body))
            emulator.on_plane(act_on_vm, plane, Cause.RESTART, f"web-{number}", "test")
            emulator.next()
    return answers


def test_the_same_seed_gives_the_same_bytes():
    first, second = polls(7), polls(7)

    assert first == second
    assert len({body for _, _, body in first}) > 10


def test_another_seed_gives_others():
    assert polls(7) != polls(8)


@pytest.mark.parametrize("order", [("solo", "twin"), ("twin", "solo")])
def test_what_strikes_one_guest_does_not_depend_on_when_others_ask(order: tuple[str, str]):
    rule = parse_fault({"name": "status", "rate": 0.5, "seed": 5})
    assert isinstance(rule, FaultRule)
    expected = {name: [rule.hits(name, number) for number in range(1, 9)] for name in order}
    addresses = {"solo": "127.0.2.1", "twin": "127.0.2.2"}

    seen: dict[str, list[bool]] = {name: [] for name in order}
    with Emulator(seed=1) as emulator:
        plane = emulator.service.plane
        emulator.on_plane(apply_fleet, plane, read_json(SMALL).spec, "test")
        emulator.on_plane(add_fault, plane, rule, "test")
        port = emulator.service.metadata[0][1]
        for _ in range(8):
            for name in order:
                path, headers = GET.split()[1].decode(), {"Metadata": "true"}
                reply = call("127.0.0.1", port, "GET", path, headers=headers, source=addresses[name])
                seen[name].append(reply.status == 503)

    assert seen == expected
