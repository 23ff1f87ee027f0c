"""Law 6: the incarnation changes if and only if the document changes, and only upward while the feature is on."""

from __future__ import annotations

from forewarn.core.document import Document
from forewarn.core.event import visible
from tests.simulation.laws.base import Checker


class Law(Checker):
    number = 6

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self.witness.on_document.append(self._saw)

    def _saw(self, scope: str, before: Document | None, after: Document) -> None:
        if before is None or before.generation != after.generation:
            return
        changed = [visible(event) for event in before.events] != [visible(event) for event in after.events]
        moved = after.incarnation != before.incarnation
        self.require(
            changed == moved,
            f"{scope}: the document {'changed' if changed else 'stayed'} and its incarnation went from "
            f"{before.incarnation} to {after.incarnation}",
        )
        self.require(
            after.incarnation >= before.incarnation,
            f"{scope}: the incarnation fell from {before.incarnation} to {after.incarnation}",
        )
