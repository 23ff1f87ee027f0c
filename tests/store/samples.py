"""One value of every class that a store keeps, with every field set to something that is not its default."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from forewarn.core.event import EVENTS_PER_COMMIT, Approval, Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ScaleSet, Vm
from forewarn.core.operation import Attempt, Operation, Outcome
from forewarn.core.phase import Phase
from forewarn.core.rollout import Rollout, RolloutState, Turn, TurnState, Work
from forewarn.core.scope import Scope, ScopeKind
from forewarn.core.terms import (
    Action,
    Cause,
    Condition,
    EvictionPolicy,
    Kind,
    Priority,
    Source,
    VmState,
)
from forewarn.core.window import Window
from forewarn.core.world import AuditEntry, Changes, Entity
from forewarn.store.sql import ClockMark

NOW = datetime(2026, 3, 2, 12, 0, 0, 123456, tzinfo=UTC)
MARK = ClockMark("some-boot", timedelta(seconds=77, microseconds=5), NOW)

HOST = Host("host-0", "1", 2, {"rack": "é\"'%_"}, Condition.DEGRADED, is_declared=False)
AVAILABILITY_SET = AvailabilitySet(
    "web", "prod", 7, 3, spread=False, min_available=2, health_check="https://web.example/ready?deep=1"
)
SCALE_SET = ScaleSet(
    "pool",
    "prod",
    3,
    ("host-0", "host-1"),
    ("10.0.0.1",),
    Priority.SPOT,
    EvictionPolicy.DELETE,
    timedelta(minutes=7),
    50,
    ("1", "2"),
    {"a": "b"},
    min_available=1,
    health_check="check-pool",
    subnet="10.0.0.0/26",
    compute={"vmSize": "Standard_D4s_v5"},
)
CLOUD_SERVICE = CloudService("legacy", "prod", min_available=1, health_check="check-legacy")
SCOPE = Scope(
    "pool/1",
    ScopeKind.PLACEMENT_GROUP,
    "pool",
    9,
    placement_group=1,
    incarnation=12,
    is_on=True,
    on_since=NOW,
    was_on_before=True,
)
VM = Vm(
    "pool_0",
    "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed",
    "host-0",
    "host-1",
    "pool/1",
    resource_group="prod",
    set_name="pool",
    instance=0,
    placement_group=1,
    update_domain=4,
    fault_domain=2,
    zone="1",
    addresses=("10.0.0.1", "fd00::1"),
    interface="veth0",
    port=8080,
    computer_name="pool000000",
    priority=Priority.SPOT,
    eviction_policy=EvictionPolicy.DELETE,
    terminate_notification=timedelta(minutes=7),
    tags={"team": "blue"},
    mac="000D3AF806EC",
    subnet="10.0.0.0/26",
    compute={"publicKeys": [{"keyData": "ssh-ed25519 é"}], "osProfile": {"adminUsername": "ops"}},
    state=VmState.STOPPED,
    came_in=7,
)
WINDOW = Window(
    time(22, 30),
    timedelta(hours=3, minutes=45),
    ("Fri", "Sat"),
    ZoneInfo("America/St_Johns"),
    (date(2026, 12, 24), date(2026, 12, 31)),
)
WORK = Work(
    Kind.FREEZE,
    by_live_migration=True,
    duration_seconds=12,
    notice=timedelta(hours=1, seconds=1),
    description="a new kernel, é\"'%_",
    max_parallel=3,
    max_parallel_per_zone=2,
    recovery=timedelta(minutes=45),
    soak=timedelta(minutes=5),
    health_wait=timedelta(seconds=90),
    max_failures=4,
    max_unhealthy_percent=17,
    expected=timedelta(seconds=17, microseconds=5),
    window=WINDOW,
    force_by=NOW + timedelta(days=30),
)
ROLLOUT = Rollout(
    "5a0e8c1a-0000-4000-8000-000000000001",
    WORK,
    "somebody",
    NOW,
    RolloutState.PAUSED,
    waves=4,
    hosts=9,
    reason="because",
    forgiven=2,
    resumed_at=NOW + timedelta(minutes=2),
    waived_wave=1,
)
TURN = Turn(
    ROLLOUT.id,
    "host-0",
    wave=1,
    position=3,
    zone="1",
    state=TurnState.OPEN,
    operation="0b7e8c1a-0000-4000-8000-000000000001",
    touched=("pool_0", "web-0"),
    domains=("pool#4", "web#0"),
    announced_at=NOW,
    ended_at=NOW + timedelta(minutes=16),
    reason="because",
)
OPERATION = Operation(
    "0b7e8c1a-0000-4000-8000-000000000001",
    Cause.MAINTAIN,
    Action.FREEZE,
    Source.PLATFORM,
    Kind.FREEZE,
    ("pool_0", "web-0"),
    "somebody",
    NOW,
    Phase.STARTED,
    host="host-0",
    description="Host server is undergoing maintenance.",
    duration_seconds=9,
    started_at=NOW,
    begin_at=NOW + timedelta(seconds=5),
    reason="because",
    rollout=ROLLOUT.id,
)
EVENT = Event(
    "AF38B200-DDE1-550B-8297-BDF189DF2712",
    EVENTS_PER_COMMIT + 1,
    OPERATION.id,
    "pool/1",
    4,
    ("pool_0",),
    Kind.FREEZE,
    Source.PLATFORM,
    "Host server is undergoing maintenance.",
    9,
    Phase.STARTED,
    NOW,
    timedelta(minutes=15),
    NOW + timedelta(minutes=15),
    NOW + timedelta(minutes=16),
    (Approval("pool_0", NOW), Approval("web-0", NOW + timedelta(seconds=1))),
    NOW,
    reason="because",
    moved_in=9,
    postponed_by="somebody",
    postponed_at=NOW,
    postponed_from=NOW + timedelta(minutes=14),
    fault="early_start, lost",
    early=timedelta(seconds=61, microseconds=7),
)
ATTEMPT = Attempt(
    OPERATION.id,
    "pool_0",
    Action.FREEZE,
    NOW,
    NOW + timedelta(minutes=30),
    "host-0",
    "host-1",
    9,
    Outcome.FAILED,
    "it broke",
    NOW,
)
DEED = AuditEntry(NOW, "somebody", "maintain", OPERATION.id, EVENT.id, "host-0", "for a reason")

EVERYTHING: tuple[Entity, ...] = (
    HOST,
    AVAILABILITY_SET,
    SCALE_SET,
    CLOUD_SERVICE,
    SCOPE,
    VM,
    ROLLOUT,
    TURN,
    OPERATION,
    EVENT,
    ATTEMPT,
)


def commit(
    number: int, *entities: Entity, seen: tuple[int, ...] | None = None, deeds: tuple[AuditEntry, ...] = ()
) -> Changes:
    """A commit of these entities; new ones unless it says which versions they replace."""
    stamped = tuple(replace(entity, version=number) for entity in entities)
    return Changes(number, stamped, seen or (0,) * len(entities), deeds)
