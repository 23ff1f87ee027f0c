"""Who is asking: nobody has to say as long as nobody was ever given a credential; then everybody has to.

A credential that was revoked still counts as given: taking away the last one does not open the door.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from forewarn.logs import get_logger
from forewarn.operator.roles import Role
from forewarn.operator.sign_in.guesses import FIRST_WAIT_SECONDS, Guesses
from forewarn.operator.sign_in.jwts import Unfit, client_of
from forewarn.operator.sign_in.keyring import Keyring
from forewarn.operator.sign_in.uses import Uses
from forewarn.store.credentials import Credential

log = get_logger()

_MOST_HELD = 256
_LONGEST_HELD_SECONDS = 5
_BEARER = re.compile(r"bearer +(\S+) *", re.IGNORECASE)
_NO_BEARER = Unfit("The Authorization header is not one Bearer token.", is_guess=True)
_UNKNOWN = Unfit("The token is not known here.", is_guess=True)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who may ask."""

    name: str
    role: Role
    credential: str | None = None  # None: nobody has to sign in


ANYBODY = Caller("operator", Role.ADMIN)  # as long as nobody has to sign in
NOBODY = Caller("nobody", Role.VIEWER)  # on a public route


@dataclass(frozen=True, slots=True)
class Stranger:
    """Nobody who is known: why, and how long to wait before another guess."""

    reason: str
    was_silent: bool = False  # no credential was sent at all
    wait_seconds: int = 0


class SignIn:
    """Knows callers by what they send."""

    def __init__(
        self,
        tenant: str,
        now: Callable[[], datetime],
        *,
        write_uses: Callable[[Mapping[str, datetime]], object] = lambda _: None,
        guesses: Guesses | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self.tenant = tenant
        self.keyring = Keyring()
        self.uses = Uses(write_uses)
        self.now = now
        self._guesses = guesses or Guesses()
        self.sleep = sleep
        self.held = 0  # wrong guesses that wait for their answer

    @property
    def is_open(self) -> bool:
        """Whether nobody has to sign in."""
        return self.keyring.is_empty

    def recognise(self, authorization: list[str], base: str, address: str) -> Caller | Stranger:
        """Who sent these headers to this service, from this address."""
        if not authorization:
            return Stranger("Nobody gets in here without signing in.", was_silent=True)
        match = _BEARER.fullmatch(authorization[0])
        if len(authorization) > 1 or match is None:
            return self._refused(_NO_BEARER, address)
        found = self._find(match[1], base)
        if isinstance(found, Unfit):
            return self._refused(found, address)
        self.uses.note(found.id, self.now())
        return Caller(found.name, Role(found.role), found.id)

    def _find(self, text: str, base: str) -> Credential | Unfit:
        found = self._find_principal(text, base) if text.count(".") == 2 else self.keyring.token(text)  # noqa: PLR2004 - a JWT's
        if isinstance(found, Unfit):
            return found
        return self._judge(found) if found else _UNKNOWN

    def _find_principal(self, text: str, base: str) -> Credential | Unfit | None:
        if self.keyring.signing_key is None:
            return None
        client = client_of(text, self.keyring.signing_key, audience=base, tenant=self.tenant)
        return client if isinstance(client, Unfit) else self.keyring.principal(client)

    def _judge(self, found: Credential) -> Credential | Unfit:
        if found.revoked_at is not None:
            return Unfit(f"The {found.kind} {found.name} has been revoked.")
        if found.has_expired(self.now()):
            return Unfit(f"The {found.kind} {found.name} has expired.")
        return found

    def recognise_client(self, client: str, secret: str, address: str) -> Credential | Stranger:
        """The principal with this client id and secret."""
        found = self.keyring.principal_with(client, secret)
        judged = self._judge(found) if found else Unfit("The client id or the secret is wrong.", is_guess=True)
        if isinstance(judged, Unfit):
            return self._refused(judged, address)
        self.uses.note(judged.id, self.now())
        return judged

    def _refused(self, unfit: Unfit, address: str) -> Stranger:
        if not unfit.is_guess:
            return Stranger(unfit.reason)
        if self.held >= _MOST_HELD and self._guesses.is_slowed(address):
            return Stranger("Too many guesses are under way.", wait_seconds=_LONGEST_HELD_SECONDS)
        wait_seconds = self._guesses.wrong(address)
        if wait_seconds == FIRST_WAIT_SECONDS:  # once, whoever goes on
            log.warning("sign-in slowed down", client=address)
        return Stranger(unfit.reason, wait_seconds=wait_seconds)

    async def make_wait(self, stranger: Stranger) -> None:
        """Let a guesser wait for the answer; who is right never waits."""
        if stranger.wait_seconds and self.held < _MOST_HELD:
            self.held += 1
            try:
                await self.sleep(min(stranger.wait_seconds, _LONGEST_HELD_SECONDS))
            finally:
                self.held -= 1

    def still_lets_in(self, caller: Caller) -> bool:
        """Whether somebody who was let in would be let in now."""
        if caller.credential is None:
            return self.is_open
        found = self.keyring.find(caller.credential)
        return found is not None and found.is_in_force(self.now())
