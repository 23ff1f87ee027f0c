"""Faults that a test puts in."""

from __future__ import annotations

from typing import Self

from forewarn.board.faults import Posted
from forewarn.control.commands.faults import add_fault, clear_faults
from forewarn.core.refusal import Refusal
from forewarn.emulator import Emulator, Refused
from forewarn.testing.fleet import ACTOR
from forewarn.wire.fault import parse_fault


class Fault:
    """A fault in force. In a `with` block it ends with the block, otherwise with the service, or by `clear`."""

    def __init__(self, emulator: Emulator, posted: Posted) -> None:
        self._emulator = emulator
        self._posted = posted

    @property
    def struck(self) -> int:
        """How often it has had an effect."""
        return self._posted.hits

    def clear(self) -> None:
        """Let it strike no more."""
        plane = self._emulator.service.plane
        self._emulator.on_plane(clear_faults, plane, self._posted.id, ACTOR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def __str__(self) -> str:
        return f"{self._posted.rule.title}: struck {self.struck} times"


def put_in(emulator: Emulator, said: dict[str, object]) -> Fault:
    """Let a fault strike from now on."""
    rule = parse_fault(said)
    if isinstance(rule, Refusal):
        raise Refused(rule.message, rule.hint)
    posted = emulator.on_plane(add_fault, emulator.service.plane, rule, ACTOR)
    return Fault(emulator, posted)
