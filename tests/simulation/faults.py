"""Things going wrong, by the roll of a die: crashes, lost replies, a store that refuses, failing drivers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from forewarn.core.operation import Attempt
from forewarn.drivers.base import Progress, Undecidable
from forewarn.drivers.simulated import SimulatedDriver
from forewarn.errors import StoreUnavailable
from forewarn.store.sql import SqlStore, Transaction


class Crash(BaseException):
    """The process dies here: what it had in memory is gone."""


@dataclass
class Dice:
    """How often each thing goes wrong, and how often it has."""

    random: random.Random
    crash: float = 0.0
    refusal: float = 0.0
    lost_commit: float = 0.0
    lost_begin: float = 0.0
    failed_begin: float = 0.0
    failed_check: float = 0.0
    undecidable: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    is_doomed: bool = False  # the process does not outlive its next commit

    def roll(self, chance: float, what: str) -> bool:
        """Whether it happens this time."""
        if chance and self.random.random() < chance:
            self.counts[what] += 1
            return True
        return False

    def maybe_crash(self, where: str) -> None:
        """Die here, perhaps."""
        if self.is_doomed and where == "after commit":
            self.is_doomed = False
            self.counts["crash before a move was shown"] += 1
            raise Crash(where)
        if self.roll(self.crash, f"crash {where}"):
            raise Crash(where)

    def be_unkind(self, temper: random.Random) -> None:
        """From now on things go wrong, some of them and each more or less often."""
        self.crash = temper.choice((0.0, 0.002, 0.01))
        self.refusal = temper.choice((0.0, 0.01))
        self.lost_commit = temper.choice((0.0, 0.005))
        self.lost_begin = temper.choice((0.0, 0.05))
        self.failed_begin = temper.choice((0.0, 0.1))
        self.failed_check = temper.choice((0.0, 0.05))
        self.undecidable = temper.choice((0.0, 0.01))

    def be_kind(self) -> None:
        """From now on nothing goes wrong by itself."""
        self.crash = self.refusal = self.lost_commit = 0.0
        self.lost_begin = self.failed_begin = self.failed_check = self.undecidable = 0.0


class FaultyStore:
    """The real store, refusing now and then, and a process around it that may die at either side of a commit."""

    def __init__(self, store: SqlStore, dice: Dice) -> None:
        self._store = store
        self._dice = dice

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        if self._dice.roll(self._dice.refusal, "store refused to begin"):
            raise StoreUnavailable("the store does not answer")
        with self._store.transaction() as transaction:
            yield transaction
            self._dice.maybe_crash("before commit")
            if self._dice.roll(self._dice.refusal, "store refused a commit"):
                raise StoreUnavailable("the store went away before the commit; nothing is kept")
        self._dice.maybe_crash("after commit")
        if self._dice.roll(self._dice.lost_commit, "lost reply of a commit"):
            raise StoreUnavailable("the connection broke after the commit")


class FaultyDriver:
    """The simulated driver, behind a connection that loses calls and replies."""

    makes_machines = is_simulated = True

    def __init__(self, driver: SimulatedDriver, dice: Dice, felt: Callable[[], None]) -> None:
        self._driver = driver
        self._dice = dice
        self._felt = felt
        self._undecidable: set[tuple[str, str]] = set()

    def begin(self, attempt: Attempt) -> None:
        self._dice.maybe_crash("between commit and driver")
        if self._dice.roll(self._dice.failed_begin, "driver refused to begin"):
            raise ConnectionError("the call did not arrive")
        self._driver.begin(attempt)
        self._felt()
        self._dice.maybe_crash("after the driver began")
        if self._dice.roll(self._dice.lost_begin, "lost reply of a driver"):
            raise ConnectionError("the reply did not arrive")

    def check(self, attempt: Attempt) -> Progress:
        self._dice.maybe_crash("before the driver was asked")
        progress = self._check(attempt)
        self._dice.maybe_crash("after the driver was asked")
        return progress

    def _check(self, attempt: Attempt) -> Progress:
        if self._dice.roll(self._dice.failed_check, "driver could not be asked"):
            raise ConnectionError("the call did not arrive")
        if attempt.key in self._undecidable or self._dice.roll(self._dice.undecidable, "undecidable attempt"):
            self._undecidable.add(attempt.key)
            return Undecidable("it cannot be told whether the action began")
        return self._driver.check(attempt)

    def close(self) -> None:
        self._driver.close()
