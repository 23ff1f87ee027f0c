"""What a judged wish is answered, without sockets.

What has to be committed first is given back as a wish of its own; the connection sees to it and comes again.
"""

from __future__ import annotations

from dataclasses import dataclass

from forewarn.board.board import Board, Guest
from forewarn.board.pages import Page
from forewarn.wire.http import Answer, answer, to_json
from forewarn.wire.imds import instance
from forewarn.wire.imds.instance import Site, Subject
from forewarn.wire.imds.request import ApproveEvents, ReadEvents, ReadInstance, ReadVersions, matches
from forewarn.wire.imds.versions import INSTANCE_VERSIONS

APPROVED = answer(200)
_VERSIONS = answer(200, to_json({"apiVersions": INSTANCE_VERSIONS}))


@dataclass(frozen=True, slots=True)
class FirstPoll:
    """The guest's scope is off, or was turned on a moment ago: turn it on, wait until it is ready, ask again."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing has changed: answer when it has, or when the guest has waited this long."""

    seconds: int


def serve(
    wish: ReadEvents | ApproveEvents | ReadVersions, guest: Guest, now: float
) -> Answer | FirstPoll | Hold | ApproveEvents:
    """The answer to a wish, or what has to happen before it."""
    match wish:
        case ReadEvents():
            if not guest.panel.is_on or guest.panel.ready_at > now:
                return FirstPoll()
            return read_events(wish, guest)
        case ApproveEvents():
            return wish
        case ReadVersions():
            return _VERSIONS


def read_instance(wish: ReadInstance, guest: Guest, address: str, board: Board, site: Site) -> Answer:
    """What the instance's metadata say of the guest that calls from this address."""
    subject = Subject(guest.vm, board.scale_sets.get(guest.vm.set_name or ""), address)
    whole = instance.tree(subject, site, wish.version, extended=wish.is_extended)
    return instance.read(whole, wish.path, as_text=wish.as_text)


def read_events(wish: ReadEvents, guest: Guest, *, may_hold: bool = True) -> Answer | Hold:
    """The document, or 304, or a hold until it changes."""
    page = guest.panel.page
    if has_news(wish, page):
        return page.answer(wish.version)
    if wish.wait_seconds and may_hold:
        return Hold(wish.wait_seconds)
    return page.not_modified(wish.version)


def has_news(wish: ReadEvents, page: Page) -> bool:
    """Whether the guest does not name the page's tag."""
    tags = wish.if_none_match
    return tags is None or not matches(tags, page.etag(wish.version))
