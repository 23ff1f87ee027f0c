"""Bugs to be planted in rollouts: each breaks one of the terms that a rollout was asked to keep to."""

from __future__ import annotations

from unittest.mock import patch

from forewarn.core import rollout_course
from forewarn.core.rollout import Work
from forewarn.core.rollout_book import RolloutBook


def starts_before_a_domain_has_recovered() -> list[object]:
    return [patch.object(RolloutBook, "other_ends", lambda _book, _set_name, _own: iter(()))]


def works_on_every_host_at_once() -> list[object]:
    return [patch.object(Work, "width", 1000)]


def pauses_without_calling_anything_off() -> list[object]:
    return [patch.object(rollout_course, "call_off_all", lambda *_: None)]


def forgets_the_window() -> list[object]:
    return [patch.object(Work, "window_at", lambda _work, _now: None)]
