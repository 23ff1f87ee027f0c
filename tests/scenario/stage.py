"""Scenarios in a test: a text that is played at once, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from forewarn.scenario.file import library
from forewarn.scenario.file.checks import check
from forewarn.scenario.file.model import Scenario
from forewarn.scenario.file.reader import read_scenario
from forewarn.scenario.play.player import Player, PlayOptions, PlayResult, PlayStep

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
    return check(library.find(name))


@dataclass
class Played:
    """What came of a play, and what was heard and told by the way."""

    result: PlayResult
    told: list[PlayStep]
    wire: dict[str, list[bytes]] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        return [happening.text for happening in self.told]

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        return [(d.key, d.expected, d.seen) for failure in self.result.failures for d in failure.differences]


def play(scenario: Scenario, before: Callable[[Player], None] = lambda _: None, **options: Any) -> Played:
    """Play it; `before` may do something to the engine first."""
    told: list[PlayStep] = []
    wire: dict[str, list[bytes]] = {}

    def hear(name: str, data: bytes) -> None:
        wire.setdefault(name, []).append(data)

    player = Player(scenario, told.append, PlayOptions(**({"on_bytes": hear} | options)))
    before(player)
    return Played(player.play(), told, wire)
