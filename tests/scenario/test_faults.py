"""Faults in scenarios: added and cleared at their times, for the right VM, and the same in every play."""

from __future__ import annotations

import pytest

from forewarn.core.fault import Fault
from tests.scenario.stage import FLEET, play, read

GUESTS = """
[[guests]]
vm = "app-0"
every = "10s"
timeout = "1s"

[[guests]]
vm = "spot-0"
every = "10s"
timeout = "1s"

"""
QUICK = {"delay": "seconds = 0.05", "slow_body": "seconds = 0.1", "first_call": "seconds = 0.05"}


def fault(name: str, options: str = "", vm: str = "", time: str = "15s") -> str:
    whose = f'vm = "{vm}"\n' if vm else ""
    return f'[[at]]\ntime = "{time}"\ndo = "fault"\nfault = "{name}"\n{whose}options = {{ {options} }}\n'


def expect_status(time: str, guest: str, status: int) -> str:
    return f'[[expect]]\ntime = "{time}"\nguest = "{guest}"\nstatus = {status}\n'


def test_fault_hits_its_vm_as_often_as_its_count():
    text = FLEET + GUESTS + fault("status", "code = 503, count = 2", vm="app-0")
    expected = [("10s", 200), ("20s", 503), ("30s", 503), ("40s", 200)]

    wanted = [expect_status(time, "app-0", status) for time, status in expected]
    played = play(read(text + "".join([*wanted[:2], expect_status("20s", "spot-0", 200), *wanted[2:]])))

    assert played.differences == []
    assert played.result.held == 5


def test_cleared_fault_hits_nobody():
    text = FLEET + GUESTS + fault("reset") + fault("status", "code = 500")
    taken_out = '[[at]]\ntime = "35s"\ndo = "clear"\nfault = "reset"\n[[at]]\ntime = "55s"\ndo = "clear"\n'
    wanted = [("30s", 0), ("40s", 500), ("60s", 200)]

    played = play(
        read(text + taken_out + "".join(expect_status(time, "app-0", status) for time, status in wanted))
    )

    assert played.differences == []


def test_chance_follows_the_seed():
    text = FLEET + GUESTS + fault("status", "code = 503, rate = 0.5") + '[[expect]]\ntime = "10m"\nopen = 0\n'
    scenario = read(text)

    one, again, other = play(scenario, seed=1), play(scenario, seed=1), play(scenario, seed=2)

    assert one.wire == again.wire
    statuses = [[data.split()[1] for data in played.wire["app-0"]] for played in (one, other)]
    assert statuses[0] != statuses[1]
    assert {b"200", b"503"} == set(statuses[0])


@pytest.mark.parametrize("name", [str(each) for each in Fault])
def test_play_goes_on_under_every_fault_and_repeats_exactly(name: str):
    restart = '[[at]]\ntime = "20s"\ndo = "restart"\nvm = "app-0"\n'
    text = FLEET + GUESTS + fault(name, QUICK.get(name, ""), time="5s") + restart
    scenario = read(f'{text}[[expect]]\ntime = "1m"\nvm = "app-0"\ncount = 1\n')

    one, again = play(scenario), play(scenario)

    assert one.differences == []
    assert one.wire == again.wire


def test_early_start_marks_its_event():
    restart = '[[at]]\ntime = "20s"\ndo = "restart"\nvm = "app-0"\n'
    text = FLEET + fault("early_start", "seconds = 300") + restart
    early = (
        '[[expect]]\ntime = "0:10:20"\nvm = "app-0"\nphase = "Started"\nfault = "early_start"\napproved_by = ""\n'
    )

    assert play(read(text + early)).differences == []
