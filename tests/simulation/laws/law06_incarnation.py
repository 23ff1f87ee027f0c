"""Law 6: the incarnation changes if and only if the document changes, and only upward while the feature is on.

The document is what guests get: the bytes of its Events in any api-version. They get what is committed: a change
that is neither counted nor shown is one all the same.
"""

from __future__ import annotations

from forewarn.board.pages import Page
from forewarn.core.document import document_of
from forewarn.core.event import Event
from tests.simulation.laws.base import Checker
from tests.simulation.watched_board import events_written
from tests.simulation.witness import Shown


class Law(Checker):
    number = 6

    def __init__(self, simulation) -> None:
        super().__init__(simulation)
        self._compared: dict[str, tuple[Event, ...]] = {}
        self.witness.on_document.append(self._saw)

    def _saw(self, scope: str, before: Shown | None, after: Shown) -> None:
        if before is None:
            return
        was, now = before.document, after.document
        if was.generation != now.generation:
            self.require(not before.is_on, f"{scope}: counts anew, from {now.incarnation}, while it is on")
            return
        went = f"its incarnation went from {was.incarnation} to {now.incarnation}"
        self.require(now.incarnation >= was.incarnation, f"{scope}: {went}, downward")
        has_changed = before.events_written != after.events_written
        self.require(
            has_changed == (now.incarnation > was.incarnation),
            f"{scope}: the document {'changed' if has_changed else 'stayed'} and {went}",
        )

    def after_tick(self) -> None:
        world = self.simulation.world
        for scope, shown in self.witness.shown.items():
            committed = document_of(world, scope)
            if committed.events not in (shown.document.events, self._compared.get(scope)):
                self._compared[scope] = committed.events
                self.require(
                    events_written(Page(committed)) == shown.events_written,
                    f"{scope}: the document changed, and neither was its incarnation counted nor is it shown",
                )
