"""How far a rollout is, kept at hand: an index over its turns, brought up to date turn by turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from forewarn.core.rollout import Turn, TurnState

_IN_A_WAVE = frozenset({TurnState.WAITING, TurnState.OPEN})


class RolloutBook:
    """The turns of one rollout, found by what is asked of them."""

    def __init__(self) -> None:
        self.turns: dict[str, Turn] = {}  # by host, in the order in which they come
        self.counts: Counter[TurnState] = Counter()
        self.open: dict[str, None] = {}
        self.postponed: dict[str, None] = {}
        self.had_postponed = False  # then hosts may have to wait for a place, as long as it lasts
        self.failed: dict[str, None] = {}
        self.last_end: datetime | None = None  # of work that somebody felt
        self._coming: dict[int, dict[str, None]] = {}  # by wave, the hosts that are not done
        self._touched: dict[int, dict[str, None]] = {}  # by wave, the VMs that were worked on
        self._ends: dict[str, dict[int, datetime]] = {}  # by set and update domain

    def copy(self) -> RolloutBook:
        """A book of the same turns."""
        made = RolloutBook()
        for turn in self.turns.values():
            made.take(turn)
        made.had_postponed = self.had_postponed
        return made

    def take(self, turn: Turn) -> None:
        """Put a turn in place of its former version."""
        before = self.turns.get(turn.host)
        if before is not None:
            self.counts[before.state] -= 1
        self.turns[turn.host] = turn
        self.counts[turn.state] += 1
        _keep(self.open, turn.host, is_in=turn.state is TurnState.OPEN)
        _keep(self.postponed, turn.host, is_in=turn.state is TurnState.POSTPONED)
        self.had_postponed = self.had_postponed or turn.state is TurnState.POSTPONED
        _keep(self.failed, turn.host, is_in=turn.state is TurnState.FAILED)
        coming = self._coming.setdefault(turn.wave, {})
        _keep(coming, turn.host, is_in=turn.state in _IN_A_WAVE)
        if not coming:
            del self._coming[turn.wave]
        was_moved = before is not None and before.rests_from not in {None, turn.rests_from}
        if was_moved:
            self._note_all_ends()
        elif turn.rests_from is not None and turn.touched:
            self._note_end(turn, turn.rests_from)

    def _note_all_ends(self) -> None:
        """The wall clock was stepped, and all ends with it."""
        self.last_end = None
        self._ends.clear()
        for turn in self.turns.values():
            if turn.rests_from is not None and turn.touched:
                self._note_end(turn, turn.rests_from)

    def _note_end(self, turn: Turn, at: datetime) -> None:
        self.last_end = at if self.last_end is None else max(self.last_end, at)
        self._touched.setdefault(turn.wave, {}).update(dict.fromkeys(turn.touched))
        for name in turn.domains:
            set_name, _, number = name.rpartition("#")
            ends = self._ends.setdefault(set_name, {})
            ends[int(number)] = max(at, ends.get(int(number), at))

    @property
    def wave(self) -> int | None:
        """The wave that is at work or comes next; None: every host has had its turn, or has put it off."""
        return min(self._coming, default=None)

    def failures(self) -> list[str]:
        """The hosts whose work failed, in the order in which it did."""
        return sorted(self.failed, key=lambda host: self.turns[host].version)

    def operations(self) -> Iterator[str]:
        """The operations of the turns that are announced or at work."""
        turns = (self.turns[host] for host in (*self.open, *self.postponed))
        return (turn.operation for turn in turns if turn.operation is not None)

    @property
    def done(self) -> int:
        """How many hosts have had their turn."""
        return sum(count for state, count in self.counts.items() if state.has_ended)

    def coming(self, wave: int) -> Iterator[Turn]:
        """The turns of a wave that are not done, in their order."""
        return (self.turns[host] for host in self._coming.get(wave, {}))

    def has_entered(self, wave: int) -> bool:
        """Whether the wave is past its gate: somebody in it was announced, or is done."""
        coming = self._coming.get(wave, {})
        if any(self.turns[host].state is TurnState.OPEN for host in self.open if host in coming):
            return True
        return wave in self._touched

    def last_touched(self, wave: int) -> list[str]:
        """The VMs that the last wave before this one worked on."""
        before = [each for each in self._touched if each < wave]
        return list(self._touched[max(before)]) if before else []

    def other_ends(self, set_name: str, own: set[int]) -> Iterator[tuple[int, datetime]]:
        """When work last ended in the other update domains of a set."""
        for domain, at in self._ends.get(set_name, {}).items():
            if own != {domain}:
                yield domain, at


def _keep(names: dict[str, None], name: str, *, is_in: bool) -> None:
    if is_in:
        names[name] = None
    else:
        names.pop(name, None)
