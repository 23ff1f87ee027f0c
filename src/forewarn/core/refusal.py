"""How a rule says no.

A `Refusal` is a value that travels back to whoever asked; nothing was changed. `IllegalStep` is raised, because
it means that our own code tried something that the table of transitions does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """Why it was refused, in one word that programs can test."""

    NOT_FOUND = "NotFound"
    AMBIGUOUS = "Ambiguous"
    BAD_REQUEST = "BadRequest"
    BUSY = "Busy"
    NOT_ALLOWED = "NotAllowed"
    LIMIT_REACHED = "LimitReached"
    NOTICE_TOO_SHORT = "NoticeTooShort"
    ILLEGAL_STEP = "IllegalStep"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule said no: what was asked, what stands in the way, and what to do."""

    code: Code
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class IllegalStep(Exception):
    """A step that the table of transitions does not have; nothing was changed."""
