"""What people and programs may do, from little to much: each role may do all that those before it may."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Who signs in has one of these."""

    VIEWER = "viewer"
    APPROVER = "approver"
    OPERATOR = "operator"
    ADMIN = "admin"

    def allows(self, needed: Role) -> bool:
        """Whether it is this role or a larger one that is needed."""
        return _FROM_LITTLE_TO_MUCH.index(self) >= _FROM_LITTLE_TO_MUCH.index(needed)


_FROM_LITTLE_TO_MUCH = tuple(Role)

IN_WORDS = {
    Role.VIEWER: "read everything but who may sign in",
    Role.APPROVER: "approve and postpone events",
    Role.OPERATOR: "restart, maintain, cancel; make and change machines; move a virtual clock; put faults in",
    Role.ADMIN: "apply a fleet; make and revoke tokens and principals; add and remove webhooks",
}


def role_for(method: str) -> Role:
    """The role that a route needs which does not say otherwise."""
    return Role.VIEWER if method == "GET" else Role.OPERATOR
