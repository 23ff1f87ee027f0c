"""The production board, with the witness standing in front of it."""

from __future__ import annotations

from collections.abc import Callable

from forewarn.board.board import Board
from forewarn.board.pages import Page
from forewarn.core.document import Document
from forewarn.wire.imds.versions import EVENTS_VERSIONS
from tests.simulation.witness import Shown

_BEFORE_EVENTS = b'"Events":'


class WatchedBoard(Board):
    """Tells what each scope's guests can read from now on; None when there is nothing to read any more."""

    def __init__(self, see: Callable[[str, Shown | None], None]) -> None:
        super().__init__()
        self._see = see
        self._pages: dict[str, tuple[Page, bool]] = {}

    def post(self, scope: str, document: Document, *, is_on: bool) -> None:
        super().post(scope, document, is_on=is_on)
        panel = self.panels[scope]
        if self._pages.get(scope) != (panel.page, panel.is_on):
            self._pages[scope] = panel.page, panel.is_on
            self._see(scope, Shown(panel.page.document, events_written(panel.page), panel.is_on))

    def remove(self, scope: str) -> None:
        super().remove(scope)
        if self._pages.pop(scope, None) is not None:
            self._see(scope, None)


def events_written(page: Page) -> tuple[bytes, ...]:
    """The Events as guests get them, byte for byte, in every api-version."""
    bodies = (page.answer(version).body for version in EVENTS_VERSIONS.values())
    return tuple(body.partition(_BEFORE_EVENTS)[2].rstrip() for body in bodies)
