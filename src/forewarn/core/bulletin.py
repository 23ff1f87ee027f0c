"""Bulletins: what those are told who listen from outside, of one event after one commit.

Guests see an event while it is open; a bulletin also tells how it ended. A commit makes one for every event that
it makes, ends, or lets look different, whether the guests of its scope ask for it or not.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from forewarn.core.draft import Draft
from forewarn.core.event import Event
from forewarn.core.fleet import Vm, VmSet
from forewarn.core.scope import Scope, ScopeKind

Owner = Vm | VmSet


@dataclass(frozen=True, slots=True)
class Bulletin:
    """An event as a commit left it."""

    event: Event
    owner: Owner | None  # the machine or the set whose scope is told; None: it went in an earlier commit
    at: datetime

    @property
    def id(self) -> str:
        """The same for every listener, and however often it is told."""
        return str(uuid.uuid5(uuid.UUID(self.event.id), str(self.event.version)))

    @property
    def sequence(self) -> int:
        """The number of the commit: larger for what happened later."""
        return self.event.version


@dataclass(frozen=True, slots=True)
class WebhookTestMessage:
    """A message that tests a webhook, and tells of no event."""

    id: str
    webhook: str
    sent_by: str
    at: datetime

    text = "This is a test message. No event has changed."


def bulletins(draft: Draft) -> list[Bulletin]:
    """What there is to tell of a draft, the oldest event first."""
    told = sorted(draft.shown_events(), key=lambda event: event.number)
    return [Bulletin(event, _owner(draft, event), draft.now) for event in told]


def owners_that_go(draft: Draft) -> dict[str, Owner]:
    """The machines and sets of scopes that a draft takes away while an event there is still open, by scope."""
    owners = {
        scope.id: _owner_of(draft, scope) for scope in draft.scopes_that_go() if _has_open_event(draft, scope)
    }
    return {scope: owner for scope, owner in owners.items() if owner is not None}


def _has_open_event(draft: Draft, scope: Scope) -> bool:
    return any(draft.event(event.id).phase.is_open for event in draft.world.events_in(scope.id))


def _owner(draft: Draft, event: Event) -> Owner | None:
    scope = draft.scope_or_none(event.scope)
    return None if scope is None else _owner_of(draft, scope)


def _owner_of(draft: Draft, scope: Scope) -> Owner | None:
    return draft.find_vm(scope.subject) if scope.kind is ScopeKind.VM else draft.vm_set(scope.subject)
