"""What a health check can say that is neither good nor bad."""

from __future__ import annotations


class NotYet(str):
    """Why nobody knows yet whether a set is well: its check is still to be asked, or may still answer."""

    __slots__ = ()
