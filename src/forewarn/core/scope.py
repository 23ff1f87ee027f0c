"""Scopes: the VMs that share one document.

A zone is no scope: a single VM in a zone sees only its own events.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

_SEED_BITS_LEFT_OUT = 80  # 48 of the 128 are kept


class ScopeKind(StrEnum):
    """What kind of belonging makes VMs share a document."""

    VM = "vm"
    AVAILABILITY_SET = "availability set"
    PLACEMENT_GROUP = "scale set"
    CLOUD_SERVICE = "cloud service"


@dataclass(frozen=True, slots=True)
class Scope:
    """Who sees a document, how often it changed, and whether anybody has asked for it lately."""

    id: str
    kind: ScopeKind
    subject: str  # the VM, set or service that it is the scope of
    generation: int  # another one for a scope that is made anew, in this store or another, or that counts anew
    placement_group: int | None = None
    incarnation: int = 1
    is_on: bool = False
    on_since: datetime | None = None
    was_on_before: bool = False
    is_gone: bool = False
    version: int = 0

    @property
    def belongs_to(self) -> tuple[ScopeKind, str, int | None]:
        """What makes it the same scope for another VM."""
        return self.kind, self.subject, self.placement_group

    @property
    def title(self) -> str:
        """The scope for a reader: `availability set web`, `vm solo`."""
        return f"{self.kind} {self.id}"


def generation_of(seed: UUID) -> int:
    """The generation of scopes that are made together; those of another store are others."""
    return seed.int >> _SEED_BITS_LEFT_OUT
