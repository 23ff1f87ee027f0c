"""Callbacks that are told of one kind of news: whoever has some publishes it and knows no subscriber.

Callbacks run on the publisher's thread, in the order in which they were subscribed, and must return at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forewarn.logs import get_logger

log = get_logger()

News = TypeVar("News")


class Subscribers(Generic[News]):
    """Those who want to be told of one kind of news."""

    __slots__ = ("_callbacks",)

    def __init__(self) -> None:
        self._callbacks: tuple[Callable[[News], object], ...] = ()  # replaced as a whole: others may be reading it

    def __len__(self) -> int:
        return len(self._callbacks)

    def subscribe(self, callback: Callable[[News], object]) -> Callable[[], None]:
        """Call back with all news from now on; returns what ends the subscription."""
        self._callbacks = (*self._callbacks, callback)

        def unsubscribe() -> None:
            left = list(self._callbacks)
            if callback in left:
                left.remove(callback)
            self._callbacks = tuple(left)

        return unsubscribe

    def publish(self, news: News) -> None:
        """Tell all subscribers; one that fails is logged, and neither the others nor the publisher notice."""
        for callback in self._callbacks:
            try:
                callback(news)
            except Exception:
                log.exception("subscriber failed")
