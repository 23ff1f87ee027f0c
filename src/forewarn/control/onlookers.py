"""Those who look on: what they make of what they see is their own trouble."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from forewarn.logs import get_logger

log = get_logger()

News = TypeVar("News")


def tell_all(onlookers: Iterable[Callable[[News], None]], news: News) -> None:
    """Let each of them know; what was done stays done, whatever one of them makes of it."""
    for learn in onlookers:
        try:
            learn(news)
        except Exception:
            log.exception("an observer failed")
