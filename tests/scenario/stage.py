"""Scenarios in a test: a text that is played at once, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forewarn.scenario import shelf
from forewarn.scenario.check import check
from forewarn.scenario.file import read_scenario
from forewarn.scenario.model import Scenario
from forewarn.scenario.player import Happening, Options, Outcome, Player

FLEET = """
[[vms]]
name = "app-0"

[[vms]]
name = "spot-0"
priority = "Spot"
"""


def read(text: str) -> Scenario:
    """A scenario that can be played."""
    return check(read_scenario(text, "test.toml"))


def unchecked(text: str) -> Scenario:
    """A scenario as it stands, also one that would be refused: what is looked at is the same."""
    return read_scenario(text, "test.toml").scenario


def built_in(name: str) -> Scenario:
    return check(shelf.find(name))


@dataclass
class Played:
    """What came of a play, and what was heard and told by the way."""

    outcome: Outcome
    told: list[Happening]
    wire: dict[str, list[bytes]] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        return [happening.text for happening in self.told]

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        return [(d.key, d.expected, d.seen) for failure in self.outcome.failures for d in failure.differences]


def play(scenario: Scenario, before: Callable[[Player], None] = lambda _: None, **options: Any) -> Played:
    """Play it; `before` may do something to the engine first."""
    told: list[Happening] = []
    wire: dict[str, list[bytes]] = {}

    def hear(name: str, data: bytes) -> None:
        wire.setdefault(name, []).append(data)

    player = Player(scenario, told.append, Options(**({"hear": hear} | options)))
    before(player)
    return Played(player.play(), told, wire)
