"""In which order a rollout goes over hosts, and which of them make a wave."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forewarn.core.rollout_plan import Stop, lay_out
from forewarn.core.world import World
from tests.core.worlds import Part, availability_set, host, row, stopped, vm, world


def laid(found: World) -> list[Stop]:
    return lay_out(found, found.hosts.values())


def waves(found: World) -> list[tuple[int, str]]:
    return [(stop.wave, stop.host.name) for stop in laid(found)]


WEB = availability_set("web")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        row("by name, as people sort", [host("h10"), host("h9")], [(0, "h9"), (0, "h10")]),
        row("zone by zone, in waves of their own", [host("h1", "b"), host("h2", "a")], [(0, "h2"), (1, "h1")]),
        row("hosts without a zone first", [host("h1", "a"), host("h2")], [(0, "h2"), (1, "h1")]),
        row(
            "empty hosts first: they may take VMs", [host("h1"), host("h2"), vm("a", "h1")], [(0, "h2"), (0, "h1")]
        ),
        row(
            "hosts whose VMs are off are empty",
            [host("h1"), host("h2"), vm("a", "h1"), stopped("b", "h2")],
            [(0, "h2"), (0, "h1")],
        ),
        row(
            "update domains in waves of their own",
            [
                host("h1"),
                host("h2"),
                host("h3"),
                WEB,
                vm("a", "h1", "web", 1),
                vm("b", "h2", "web", 0),
                vm("c", "h3", "web", 1),
            ],
            [(0, "h2"), (1, "h1"), (1, "h3")],
        ),
        row(
            "update domains of different sets in one wave",
            [host("h1"), host("h2"), WEB, availability_set("db"), vm("a", "h1", "web", 0), vm("b", "h2", "db", 1)],
            [(0, "h1"), (0, "h2")],
        ),
        row(
            "a host with two update domains of a set in a wave of its own",
            [
                host("h1"),
                host("h2"),
                host("h3"),
                WEB,
                vm("a", "h1", "web", 0),
                vm("b", "h2", "web", 1),
                vm("c", "h3", "web", 0),
                vm("d", "h3", "web", 1),
            ],
            [(0, "h1"), (1, "h3"), (2, "h2")],
        ),
        row(
            "two such hosts in different waves",
            [
                host("h1"),
                host("h2"),
                WEB,
                *(vm(f"{n}{name}", name, "web", n) for n in (0, 1) for name in ("h1", "h2")),
            ],
            [(0, "h1"), (1, "h2")],
        ),
        row(
            "hosts that only a force-by date lets go last of their wave",
            [host("h1"), host("h2"), availability_set("web", 1), vm("a", "h1", "web", 0), vm("b", "h2")],
            [(0, "h2"), (0, "h1")],
        ),
    ],
)
def test_a_rollout_goes(parts: list[Part], expected: list[tuple[int, str]]):
    assert waves(world(*parts)) == expected


PLACES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 3), st.integers(0, 4)), max_size=40)


@settings(deadline=None, derandomize=True, database=None)
@given(st.integers(1, 12), PLACES)
def test_in_no_wave_are_there_two_domains_of_a_set_but_on_one_host(hosts: int, placed: list[tuple[int, int, int]]):
    vms = [vm(f"vm-{n}", f"h{on % hosts}", f"set-{of}", domain) for n, (on, of, domain) in enumerate(placed)]
    sets = [availability_set(f"set-{n}", spread=False) for n in range(4)]
    stops = laid(world(*(host(f"h{n}") for n in range(hosts)), *sets, *vms))

    assert Counter(stop.host.name for stop in stops) == Counter(f"h{n}" for n in range(hosts))
    for wave in {stop.wave for stop in stops}:
        together = [stop for stop in stops if stop.wave == wave]
        for name in {name for stop in together for name in stop.domains}:
            holders = [stop.domains[name] for stop in together if name in stop.domains]
            assert len(holders) == 1 or (len(set(holders)) == 1 and len(holders[0]) == 1)
