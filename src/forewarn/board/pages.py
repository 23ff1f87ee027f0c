"""Ready pages: a document, written out once per api-version, on first ask, and dated when the date has changed.

A page never changes. A new document is a new page, put in its place in one assignment, so a reader on another
thread sees the old one or the new one and nothing between.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from forewarn.core.document import Document
from forewarn.wire.http import CLOSE, Answer
from forewarn.wire.imds.document import etag, not_modified, page
from forewarn.wire.imds.request import matches
from forewarn.wire.imds.versions import EVENTS_VERSIONS, EventsVersion


class Ready:
    """An answer as it goes out at this moment: with the date, and with or without the connection's end."""

    __slots__ = ("date", "going_on", "last")

    def __init__(self, answer: Answer, date: bytes) -> None:
        self.date = date
        self.going_on = answer.encode(date)
        self.last = answer.encode(date + CLOSE)


class Page:
    """One document and the answers made from it."""

    __slots__ = ("__weakref__", "_answers", "_unchanged", "document", "ready")

    def __init__(self, document: Document) -> None:
        self.document = document
        self._answers: list[Answer | None] = [None] * len(EVENTS_VERSIONS)
        self.ready: list[Ready | None] = [None] * len(EVENTS_VERSIONS)
        self._unchanged: list[tuple[str, Ready] | None] = [None] * len(EVENTS_VERSIONS)

    def answer(self, version: EventsVersion) -> Answer:
        """The answer to a plain GET."""
        answer = self._answers[version.index]
        if answer is None:
            answer = self._answers[version.index] = self._write(version)
        return answer

    def _write(self, version: EventsVersion) -> Answer:
        return page(self.document, version)

    def refresh(self, version: EventsVersion, date: bytes) -> Ready:
        """The answer to a plain GET, dated."""
        ready = self.ready[version.index] = Ready(self.answer(version), date)
        return ready

    def unchanged(self, version: EventsVersion, tags: str, date: bytes) -> Ready | None:
        """The answer to a GET that names these tags, dated; None: it has news."""
        known = self._unchanged[version.index]
        if known is None or known[1].date is not date:
            known = (self.etag(version), Ready(self.not_modified(version), date))
            self._unchanged[version.index] = known
        tag, ready = known
        return ready if tags == tag or matches(tags, tag) else None

    def etag(self, version: EventsVersion) -> str:
        """The tag of that answer."""
        return etag(self.document, version)

    def not_modified(self, version: EventsVersion) -> Answer:
        """The answer to a GET that names the tag."""
        return not_modified(self.document, version)


class PageMaker:
    """Makes pages; documents without events that read the same share one, for as long as a scope shows it."""

    def __init__(self) -> None:
        self._empty: WeakValueDictionary[Document, Page] = WeakValueDictionary()

    def page(self, document: Document) -> Page:
        """A page for the document."""
        if document.events:
            return Page(document)
        shared = self._empty.get(document)
        if shared is None:
            shared = self._empty[document] = Page(document)
        return shared
