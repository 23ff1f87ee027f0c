"""Words that were not known: what they may have been meant to be, and what there is."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def either(known: Collection[str]) -> str:
    """Some words, one of which is to be chosen: `a, b or c`."""
    *most, last = known
    return f"{', '.join(most)} or {last}" if most else last


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A question, where a known word is near; in any case of letters."""
    by_small = {each.lower(): each for each in known}
    close = difflib.get_close_matches(word.lower(), by_small, n=1)
    return f"Did you mean {by_small[close[0]]}?" if close else ""


def suggest(word: str, known: Collection[str]) -> str:
    """What may have been meant, else all that there is."""
    return did_you_mean(word, known) or f"Known are: {', '.join(known)}."
