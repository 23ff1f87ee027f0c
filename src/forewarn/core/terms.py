"""The words of maintenance: kinds, causes, actions and states.

One word per thing, spelled here once and used in code, tables, logs, REST and the command line.
"""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a guest is told will happen: the EventType of the wire."""

    FREEZE = "Freeze"
    REBOOT = "Reboot"
    REDEPLOY = "Redeploy"
    PREEMPT = "Preempt"
    TERMINATE = "Terminate"


class Source(StrEnum):
    """On whose wish it happens: the EventSource of the wire."""

    PLATFORM = "Platform"
    USER = "User"


class Cause(StrEnum):
    """What was asked for. The rules look at the cause; guests see the kind."""

    RESTART = "restart"
    REDEPLOY = "redeploy"
    STOP = "stop"
    DEALLOCATE = "deallocate"
    START = "start"
    DELETE = "delete"
    REIMAGE = "reimage"
    EVICT = "evict"
    MAINTAIN = "maintain"
    DEGRADE = "degrade"
    FAIL = "fail"

    @property
    def is_users(self) -> bool:
        """Whether the VM's owner asked for it."""
        return self in _USERS

    @property
    def is_planned(self) -> bool:
        """Whether it is platform work that can wait for a better moment."""
        return self in _PLANNED

    @property
    def does_planned_work(self) -> bool:
        """Whether its completion makes planned work that waits for the same VM needless."""
        return self in _DOES_PLANNED_WORK

    @property
    def takes_vm_down(self) -> bool:
        """Whether a VM under it counts as down; one that its owner stops or starts does not."""
        return self not in _OWNERS_SWITCH


_OWNERS_SWITCH = frozenset({Cause.STOP, Cause.DEALLOCATE, Cause.START})
_USERS = _OWNERS_SWITCH | {Cause.RESTART, Cause.REDEPLOY, Cause.REIMAGE, Cause.DELETE}
_PLANNED = frozenset({Cause.MAINTAIN, Cause.DEGRADE})
_DOES_PLANNED_WORK = frozenset({Cause.REDEPLOY, Cause.STOP, Cause.DEALLOCATE, Cause.DELETE})


class Action(StrEnum):
    """What a driver does to one machine."""

    FREEZE = "freeze"
    MIGRATE = "migrate"
    REBOOT = "reboot"
    REDEPLOY = "redeploy"
    REIMAGE = "reimage"
    RESTORE = "restore"
    STOP = "stop"
    DEALLOCATE = "deallocate"
    START = "start"
    DELETE = "delete"

    @property
    def needs_host(self) -> bool:
        """Whether the machine may come up on another host than it was on."""
        return self in _NEEDS_HOST


_NEEDS_HOST = frozenset({Action.MIGRATE, Action.REDEPLOY, Action.RESTORE, Action.START})


class VmState(StrEnum):
    """What a machine is doing, as far as we know."""

    RUNNING = "running"
    STOPPED = "stopped"
    DEALLOCATED = "deallocated"
    DOWN = "down"  # its host failed, or an action of ours left it so
    DELETED = "deleted"


class Condition(StrEnum):
    """What is known of a host's hardware."""

    UP = "up"
    DEGRADED = "degraded"
    FAILED = "failed"


class Risk(StrEnum):
    """How likely a degraded host is to fail soon."""

    LOW = "low"
    HIGH = "high"
    IMMINENT = "imminent"


class Priority(StrEnum):
    """Whether capacity may be taken back from the VM."""

    REGULAR = "Regular"
    SPOT = "Spot"


class AutoApproval(StrEnum):
    """What is approved without asking the guests: the owner's own requests, or anything when nobody is up."""

    REBOOT = "Reboot"
    REDEPLOY = "Redeploy"
    ALL_DOWN = "AllInstancesDown"


class EvictionPolicy(StrEnum):
    """What becomes of a Spot VM that is evicted."""

    DEALLOCATE = "Deallocate"
    DELETE = "Delete"
