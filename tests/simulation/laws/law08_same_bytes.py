"""Law 8: all VMs of a scope get the same bytes for the same version and incarnation."""

from __future__ import annotations

from tests.simulation.laws.base import Checker


class Law(Checker):
    number = 8

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._said: dict[tuple[object, ...], bytes] = {}

    def saw_answer(self, scope: str, tag: tuple[object, ...], body: bytes) -> None:
        said = self._said.setdefault((scope, *tag), body)
        self.require(said == body, f"{scope}: two answers for {tag}: {said!r} and {body!r}")
