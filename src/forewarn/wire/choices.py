"""Words that were not known: what they may have been meant to be, and what there is."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def either(known: Collection[str]) -> str:
    """Some words, one of which is to be chosen: `a, b or c`."""
    *most, last = known
    return f"{', '.join(most)} or {last}" if most else last


def nearest(word: str, known: Collection[str]) -> list[str]:
    """The known word that resembles this one most, in any case of letters; none where no word does."""
    by_small = {each.lower(): each for each in known}
    return [by_small[each] for each in difflib.get_close_matches(word.lower(), by_small, n=1)]


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A question, where a known word is near; in any case of letters."""
    return "".join(f"Did you mean {each}?" for each in nearest(word, known))


def suggest(word: str, known: Collection[str]) -> str:
    """What may have been meant, else all that there is."""
    return did_you_mean(word, known) or f"Known are: {', '.join(known)}."
