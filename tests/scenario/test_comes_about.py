"""Whatever comes about in a play may be expected: invented scenarios are played, looked at, and then checked."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest

from forewarn.scenario.check import check
from forewarn.scenario.file import read_scenario
from tests.scenario.stage import play, unchecked

FLEET = """
[scenario]
length = "1h"

[[availability_sets]]
name = "web"
update_domains = 2

[[hosts]]
name = "host-0"

[[hosts]]
name = "host-1"

[[vms]]
name = "a"
host = "host-0"

[[vms]]
name = "b"
host = "host-0"
priority = "Spot"

[[vms]]
name = "c"
host = "host-1"
availability_set = "web"

[[vms]]
name = "d"
terminate_notification = "PT5M"
"""
VMS = ("a", "b", "c", "d")
GUESTS = ("one", "two")
DEEDS = ("restart", "redeploy", "maintain", "degrade", "evict", "delete", "approve", "cancel", "stop", "fail")


class Probe(NamedTuple):
    """Somebody who is looked at, and when."""

    subject: str  # vm or guest
    name: str
    time: int

    def expect(self, *said: str) -> str:
        lines = "".join(f"{each}\n" for each in said)
        return f'[[expect]]\ntime = {self.time}\n{self.subject} = "{self.name}"\n{lines}'

    @property
    def unlikely(self) -> str:
        """What is not so: the differences tell what is."""
        if self.subject == "guest":
            return self.expect('saw = ["?"]', "ids = 99")
        return self.expect('phase = "none"', 'approved_by = "?"')


def invented_guest(random: Random, name: str) -> str:
    lines = [f'vm = "{random.choice(VMS)}"', f'name = "{name}"', f"every = {random.choice((7, 60, 300))}"]
    if random.random() < 0.7:
        lines.append(f"approve_after = {random.choice((0, 10, 600))}")
    if random.random() < 0.3:
        lines.append(f"stops = {random.choice((50, 900))}")
    if random.random() < 0.3:
        lines.append('version = "2017-08-01"')
    return "[[guests]]\n" + "\n".join(lines) + "\n"


def invented_acts(random: Random) -> Iterator[str]:
    time = 0.0
    for _ in range(random.randint(1, 4)):
        time += random.choice((0, 0.5, 5, 60, 300, 900))
        deed = random.choice(DEEDS[: -2 if random.random() < 0.8 else None])
        vm = "b" if deed == "evict" else random.choice(VMS)
        yield f'[[at]]\ntime = {time}\ndo = "{deed}"\nvm = "{vm}"\n'


def taken(text: str, acts: list[str]) -> str:
    """The scenario without those acts that the engine refuses."""
    while True:
        scenario = unchecked(text + "".join(acts))
        failed = {failure.line for failure in play(scenario).outcome.failures}
        kept = [act for act, line in zip(acts, scenario.act_lines, strict=True) if line not in failed]
        if kept == acts:
            return text + "".join(acts)
        acts = kept


def what_is(text: str, probes: list[Probe]) -> Iterator[str]:
    """What is so at these times, as expectations."""
    scenario = unchecked(text + "".join(probe.unlikely for probe in probes))
    failures = {failure.line: failure.differences for failure in play(scenario).outcome.failures}
    for probe, line in zip(probes, scenario.expectation_lines, strict=True):
        said = []
        for difference in failures.get(line, ()):
            key, seen = difference.key, difference.seen.replace("nothing", "")
            if key == "saw":
                said.append(f"saw = {[each for each in seen.split(', ') if each]}")
            elif not seen.startswith("no event"):
                said.append(f"ids = {seen}" if key == "ids" else f'{key} = "{seen}"')
        if said:
            yield probe.expect(*said)


@pytest.mark.parametrize("seed", range(12))
def test_what_comes_about_is_never_refused(seed: int):
    random = Random(seed)
    guests = "".join(invented_guest(random, name) for name in GUESTS)
    times = sorted({*random.sample(range(3600), 6), 60, 900, 965, 3600})
    probes = [Probe("vm", vm, time) for time in times for vm in VMS]
    probes += [Probe("guest", name, time) for time in times for name in GUESTS]
    probes.sort(key=lambda probe: probe.time)

    text = taken(FLEET + guests, list(invented_acts(random)))
    expected = list(what_is(text, probes))

    assert expected
    assert check(read_scenario(text + "".join(expected), "good.toml"))
