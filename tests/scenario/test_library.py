"""The scenarios that come with forewarn: quick, as expected, and not by chance."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from types import ModuleType
from unittest.mock import patch

import pytest

from forewarn.core.notice import LEAST_NOTICE
from forewarn.core.requests.degraded import Degradation
from forewarn.core.terms import Kind
from forewarn.scenario.file import library
from forewarn.scenario.play import actions
from forewarn.scenario.play.player import Player
from tests.scenario.stage import built_in, play

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _no_bug_stays() -> Iterator[None]:
    yield
    patch.stopall()


def _plant(where: ModuleType, command: str, bug: Callable[..., object]) -> None:
    """Put a bug in place of a command, for the length of a test."""
    patch.object(where, command, bug).start()


def hurried(player: Player) -> None:
    """A planted bug: every notice is a second too short."""
    limits = player.emulator.service.plane.limits
    shorter = {kind: notice - SECOND for kind, notice in LEAST_NOTICE.items()}
    player.emulator.service.plane.limits = replace(limits, least_notice=shorter)


def sluggish(player: Player) -> None:
    """A planted bug: Started is seen a second too long."""
    plane = player.emulator.service.plane
    plane.limits = replace(plane.limits, lead=plane.limits.lead + SECOND)


def deaf(_: Player) -> None:
    """A planted bug: nothing is ever called off."""
    _plant(actions, "cancel_operation", lambda *_: None)


def never_off(player: Player) -> None:
    """A planted bug: a scope stays on, however long nobody asks."""
    player.emulator.service.plane.polls._silence = timedelta(days=300)


def counts_on(player: Player) -> None:
    """A planted bug: the incarnation goes on where it was when the scope comes on again."""
    plane = player.emulator.service.plane
    plane.limits = replace(plane.limits, resets_incarnation=False)


def faultless(_: Player) -> None:
    """A planted bug: a fault that is put in does nothing."""
    _plant(actions, "add_fault", lambda *_: None)


def restless(_: Player) -> None:
    """A planted bug: update domains get no time to recover."""
    ask = actions.start_rollout
    _plant(
        actions, "start_rollout", lambda plane, wish, who: ask(plane, replace(wish, recovery=timedelta(0)), who)
    )


def optimistic(_: Player) -> None:
    """A planted bug: a sick host gets six days, whatever is known of it."""
    ask = actions.degrade_host
    _plant(
        actions,
        "degrade_host",
        lambda plane, host, _asked, who: ask(plane, host, Degradation(timedelta(days=6)), who),
    )


def mistaken(_: Player) -> None:
    """A planted bug: a host that has failed is told as a Reboot."""
    ask = actions.fail_host
    _plant(actions, "fail_host", lambda plane, host, who, _=None: ask(plane, host, who, Kind.REBOOT))


def rooted(_: Player) -> None:
    """A planted bug: nobody is moved, and every Freeze takes its usual time."""
    ask = actions.maintain_host

    def maintain(plane, host, asked, who):
        return ask(plane, host, replace(asked, by_live_migration=False, duration_seconds=None), who)

    _plant(actions, "maintain_host", maintain)


def lonely(player: Player) -> None:
    """A planted bug: every document has one event at most."""
    world = player.emulator.service.plane.world
    events_in = world.events_in
    world.events_in = lambda scope: list(events_in(scope))[:1]  # type: ignore[method-assign]


Bug = Callable[[Player], None]
FINDS: dict[str, tuple[Bug, ...]] = {
    "cancelled-maintenance": (deaf, hurried),
    "degraded-hardware": (optimistic, sluggish),
    "emergency-repair": (optimistic, hurried, sluggish),
    "feature-off": (never_off, counts_on, sluggish),
    "flapping-document": (deaf,),
    "hardware-failure": (mistaken, sluggish),
    "host-freeze": (hurried, sluggish),
    "live-migration": (rooted, hurried, sluggish),
    "network-update": (rooted, hurried, sluggish),
    "scale-in": (lonely, sluggish),
    "spot-eviction": (hurried, sluggish),
    "spot-eviction-5s": (faultless, sluggish),
    "update-domain-walk": (restless, hurried, sluggish),
    "user-reboot": (hurried, sluggish),
    "user-redeploy": (hurried, sluggish),
}
PLANTED = [(name, bug) for name, bugs in FINDS.items() for bug in bugs]


def cpu_seconds_of(name: str) -> float:
    """The seconds of CPU that a play takes: how busy the machine is does not count."""
    began = time.process_time()
    assert play(built_in(name)).result.is_over
    return time.process_time() - began


def test_library_has_a_scenario_for_everything_the_real_service_does():
    assert library.names() == [
        "cancelled-maintenance",
        "degraded-hardware",
        "emergency-repair",
        "feature-off",
        "flapping-document",
        "hardware-failure",
        "host-freeze",
        "live-migration",
        "network-update",
        "scale-in",
        "spot-eviction",
        "spot-eviction-5s",
        "update-domain-walk",
        "user-reboot",
        "user-redeploy",
    ]


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_passes(name: str):
    scenario = built_in(name)

    played = play(scenario)

    assert played.differences == []
    assert played.result.held == len(scenario.expectations) >= 5
    assert scenario.head.description


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_plays_in_under_a_second(name: str, figures):
    tries: list[float] = []
    while min(tries, default=1.0) >= 1.0 and len(tries) < 10:  # a core that is shared is slower
        tries.append(cpu_seconds_of(name))

    figures(f"{name}: {min(tries):.2f} s of CPU")
    assert min(tries) < 1.0


@pytest.mark.parametrize(("name", "bug"), PLANTED, ids=[f"{name} {bug.__name__}" for name, bug in PLANTED])
def test_library_scenario_finds_its_planted_bugs(name: str, bug: Bug):
    assert play(built_in(name), bug).result.failures, f"{name} holds though the engine is {bug.__name__}"


STARTED_MINUTES = {  # from Started until it is gone, as of the real service: the platform's own work
    "degraded-hardware": {10},
    "emergency-repair": {10},
    "flapping-document": {10},
    "hardware-failure": {10},
    "host-freeze": {10},
    "live-migration": {5},
    "network-update": {10},
    "update-domain-walk": {10},
}


@pytest.mark.parametrize(("name", "minutes"), STARTED_MINUTES.items(), ids=STARTED_MINUTES)
def test_platform_work_stays_started_as_long_as_in_the_real_service(name: str, minutes: set[int]):
    told = [each for each in play(built_in(name)).told if each.what == "event"]

    started = {each.details["event"]: each.at for each in told if each.details["phase"] == "Started"}
    ended = {each.details["event"]: each.at for each in told if each.details["phase"] == "Completed"}

    assert started.keys() == ended.keys()
    assert {ended[event] - started[event] for event in started} == {timedelta(minutes=each) for each in minutes}


def test_approved_event_starts_at_not_before_while_another_update_domain_recovers():
    told = [each for each in play(built_in("update-domain-walk")).told if each.what == "event"]

    starts = {vm: each.at for each in told for vm in each.details["vms"] if each.details["phase"] == "Started"}

    assert starts == {
        "web-0": timedelta(minutes=1),  # at once: it has approved, and nobody recovers
        "web-1": timedelta(minutes=41),
        "web-2": timedelta(minutes=81),
    }


def test_every_library_scenario_has_a_planted_bug():
    assert list(FINDS) == library.names()


def test_wrong_description_is_found():
    def plant(_: Player) -> None:
        ask = actions.maintain_host

        def maintain(plane, host, asked, actor):
            return ask(plane, host, replace(asked, description="Maintenance."), actor)

        _plant(actions, "maintain_host", maintain)

    played = play(built_in("host-freeze"), plant)

    assert played.differences == [("description", "Host server is undergoing maintenance.", "Maintenance.")]
