from __future__ import annotations

import gc
import weakref

from forewarn.board.board import Board
from forewarn.core.document import Document


def test_scopes_with_the_same_empty_document_share_one_page():
    board = Board()

    board.post("a", Document(1, 7), is_on=True)
    board.post("b", Document(1, 7), is_on=True)

    assert board.panels["a"].page is board.panels["b"].page


def test_an_empty_page_that_no_scope_shows_any_more_is_freed():
    board = Board()
    board.post("a", Document(1, 1), is_on=True)
    first = weakref.ref(board.panels["a"].page)

    board.post("a", Document(1, 2), is_on=True)

    gc.collect()
    assert first() is None
