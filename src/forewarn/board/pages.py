"""Ready pages: a document, written out once per api-version, on first ask.

A page never changes. A new document is a new page, put in its place in one assignment, so a reader on another
thread sees the old one or the new one and nothing between.
"""

from __future__ import annotations

from forewarn.core.document import Document
from forewarn.wire.http import Answer
from forewarn.wire.imds.document import etag, not_modified, page
from forewarn.wire.imds.versions import EVENTS_VERSIONS, EventsVersion

_MOST_SHARED_PAGES = 1024


class Page:
    """One document and the answers made from it."""

    __slots__ = ("document", "ready")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.ready: list[Answer | None] = [None] * len(EVENTS_VERSIONS)

    def answer(self, version: EventsVersion) -> Answer:
        """The answer to a plain GET."""
        ready = self.ready[version.index]
        if ready is None:
            ready = self.ready[version.index] = page(self.document, version)
        return ready

    def etag(self, version: EventsVersion) -> str:
        """The tag of that answer."""
        return etag(self.document, version)

    def not_modified(self, version: EventsVersion) -> Answer:
        """The answer to a GET that names the tag."""
        return not_modified(self.document, version)


class PageMaker:
    """Makes pages; documents without events that read the same share one."""

    def __init__(self) -> None:
        self._empty: dict[Document, Page] = {}

    def page(self, document: Document) -> Page:
        """A page for the document."""
        if document.events:
            return Page(document)
        shared = self._empty.get(document)
        if shared is None:
            if len(self._empty) >= _MOST_SHARED_PAGES:
                self._empty.clear()
            shared = self._empty[document] = Page(document)
        return shared
