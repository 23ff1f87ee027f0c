"""What goes wrong at the endpoint, and when, drawn from a seed.

There are spells, in which every question goes wrong in one way or in several. Between them single questions do,
but never so many in a row that somebody who asks every second, and again at once, could miss an event that is
there for three seconds: at most three, one of which may ask for a second's patience; none shortly after a spell.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.agent.azure import Fault
from tests.agent.storm.platform import FIRST_CALL_SECONDS

PORTAL = b"<!DOCTYPE html><html><body>The proxy cannot reach 169.254.169.254.</body></html>"
FAULTS = {
    "500": Fault(500),
    "503": Fault(503, b"", {"Retry-After": "30"}),
    "502 of a proxy": Fault(502, PORTAL, {"Content-Type": "text/html"}),
    "200 of a proxy": Fault(200, PORTAL, {"Content-Type": "text/html"}),
    "302 to a portal": Fault(302, b"", {"Location": "http://portal.example/"}),
    "400": Fault(400),
    "404": Fault(404),
    "410": Fault(410),
    "429": Fault(429, headers={"Retry-After": "1"}),
    "429, a minute": Fault(429, headers={"Retry-After": "60"}),
    "cut JSON": Fault(body=b'{"DocumentIncarnation":3,"Events":[{"EventId":"4F1C'),
    "cut body": Fault(is_cut=True),
    "empty body": Fault(body=b""),
    "null events": Fault(body=b'{"DocumentIncarnation":3,"Events":null}'),
    "null": Fault(body=b"null"),
    "an event that is null": Fault(body=b'{"DocumentIncarnation":3,"Events":[null]}'),
    "no events member": Fault(body=b'{"DocumentIncarnation":3}'),
    "closed": Fault(is_closed=True),
    "late": Fault(delay_seconds=4),
    "far too late": Fault(delay_seconds=60),
}
SINGLE = tuple(name for name in FAULTS if name not in {"late", "far too late", "503", "429, a minute"})
SLOW = {"410", "429", "an event that is null"}  # after these the next question comes a second later
_MOST_IN_A_ROW = 3
_MOST_TRIES = 4  # that fail, of one approval, outside of spells
_CALM_SECONDS = 3.5  # after a spell


@dataclass(frozen=True)
class Spell:
    """From when to when everything goes wrong, and how."""

    begins_at: float
    ends_at: float
    kinds: tuple[str, ...]


class Weather:
    """Which fault a question meets."""

    def __init__(self, seed: int, seconds: float) -> None:
        self.spells = tuple(_draw_spells(random.Random(f"spells {seed}"), seconds))
        self._seed = seed
        self._ends_at = seconds
        self._dice = random.Random(f"faults {seed}")
        self._row: list[str] = []

    def spell_at(self, at: float) -> Spell | None:
        return next((spell for spell in self.spells if spell.begins_at <= at < spell.ends_at), None)

    def next_spell(self, at: float) -> float:
        return min((spell.begins_at for spell in self.spells if spell.begins_at > at), default=float("inf"))

    def draw(self, at: float) -> str:
        """The fault for a question for the document; empty: none."""
        spell = self.spell_at(at)
        if spell is not None:
            self._row = []
            return self._dice.choice(spell.kinds)
        is_calm = at > self._ends_at or any(0 <= at - each.ends_at < _CALM_SECONDS for each in self.spells)
        if is_calm or len(self._row) >= _MOST_IN_A_ROW or self._dice.random() > 0.3:
            self._row = []
            return ""
        kinds = [name for name in SINGLE if not (name in SLOW and SLOW & set(self._row))]
        self._row.append(self._dice.choice(kinds))
        return self._row[-1]

    def draw_for_approval(self, event_id: str, tries: int, at: float) -> str:
        """The fault for an approval; empty: none. It does not matter for what is seen."""
        dice = random.Random(f"{self._seed} {event_id} {tries}")
        spell = self.spell_at(at)
        if spell is not None:
            return dice.choice(spell.kinds)
        is_calm = at > self._ends_at or tries >= _MOST_TRIES
        return "" if is_calm or dice.random() > 0.5 else dice.choice(SINGLE)


def _draw_spells(dice: random.Random, seconds: float) -> list[Spell]:
    spells = []
    at = FIRST_CALL_SECONDS + 10
    while at < seconds - 60:
        lasts = dice.choice(
            (dice.uniform(0.2, 5), dice.uniform(0.2, 5), dice.uniform(5, 40), dice.uniform(40, 90))
        )
        kinds = tuple(dice.sample(list(FAULTS), dice.choice((1, 1, 2, 5))))
        spells.append(Spell(at, min(at + lasts, seconds), kinds))
        at += lasts + dice.expovariate(1 / 60) + 1
    assert all(one.ends_at < other.begins_at for one, other in zip(spells, spells[1:]))
    return spells
