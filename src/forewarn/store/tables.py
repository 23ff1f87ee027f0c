"""The tables. Columns are the fields of the core's values, in their order.

`version` is the number of the commit that wrote the row: it guards writes, and it tells what is new since a
commit. Instants and durations are whole microseconds.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, String, Table, Text

from forewarn.core.event import Event
from forewarn.core.fleet import AvailabilitySet, CloudService, Host, ResourceGroup, ScaleSet, Vm
from forewarn.core.operation import Attempt, Operation
from forewarn.core.rollout import Rollout, Turn
from forewarn.core.scope import Scope
from forewarn.core.world import AuditEntry

# Of the schema, oldest first; each is a file in migrations/versions.
REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010")

metadata = MetaData()


def _version() -> Column[int]:
    return Column("version", BigInteger, nullable=False, index=True)


def _micros(name: str, *, nullable: bool = False, index: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable, index=index)


hosts = Table(
    "hosts",
    metadata,
    Column("name", String, primary_key=True),
    Column("zone", String),
    Column("fault_domain", Integer, nullable=False),
    Column("tags", Text, nullable=False),
    Column("condition", String, nullable=False),
    Column("is_declared", Boolean, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    _version(),
)

resource_groups = Table(
    "resource_groups",
    metadata,
    Column("name", String, primary_key=True),
    Column("kept", Text, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    _version(),
)

availability_sets = Table(
    "availability_sets",
    metadata,
    Column("name", String, primary_key=True),
    Column("resource_group", String, nullable=False),
    Column("update_domains", Integer, nullable=False),
    Column("fault_domains", Integer, nullable=False),
    Column("spread", Boolean, nullable=False),
    Column("auto_approve", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("health_check", String),
    Column("min_available", Integer, nullable=False),
    Column("kept", Text, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    _version(),
)

scale_sets = Table(
    "scale_sets",
    metadata,
    Column("name", String, primary_key=True),
    Column("resource_group", String, nullable=False),
    Column("capacity", Integer, nullable=False),
    Column("hosts", Text, nullable=False),
    Column("addresses", Text, nullable=False),
    Column("priority", String, nullable=False),
    Column("eviction_policy", String, nullable=False),
    _micros("terminate_notification", nullable=True),
    Column("placement_group_size", Integer, nullable=False),
    Column("zones", Text, nullable=False),
    Column("tags", Text, nullable=False),
    Column("auto_approve", Text, nullable=False),
    Column("announces_reimage", Boolean, nullable=False),
    Column("health_check", String),
    Column("min_available", Integer, nullable=False),
    Column("subnet", String),
    Column("compute", Text, nullable=False),
    Column("is_leaving", Boolean, nullable=False),
    Column("kept", Text, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    _version(),
)

cloud_services = Table(
    "cloud_services",
    metadata,
    Column("name", String, primary_key=True),
    Column("resource_group", String, nullable=False),
    Column("health_check", String),
    Column("min_available", Integer, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    _version(),
)

scopes = Table(
    "scopes",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("placement_group", Integer),
    Column("incarnation", BigInteger, nullable=False),
    Column("is_on", Boolean, nullable=False),
    _micros("on_since", nullable=True),
    Column("was_on_before", Boolean, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    _version(),
)

vms = Table(
    "vms",
    metadata,
    Column("name", String, primary_key=True),
    Column("vm_id", String, nullable=False),
    Column("host", String, nullable=False),
    Column("home", String),
    Column("scope", String, nullable=False),
    Column("resource_group", String, nullable=False),
    Column("set_name", String),
    Column("instance", Integer),
    Column("placement_group", Integer),
    Column("update_domain", Integer, nullable=False),
    Column("fault_domain", Integer, nullable=False),
    Column("zone", String),
    Column("addresses", Text, nullable=False),
    Column("interface", String),
    Column("port", Integer),
    Column("computer_name", String),
    Column("priority", String, nullable=False),
    Column("eviction_policy", String, nullable=False),
    _micros("terminate_notification", nullable=True),
    Column("tags", Text, nullable=False),
    Column("auto_approve", Text, nullable=False),
    Column("announces_reimage", Boolean, nullable=False),
    Column("mac", String),
    Column("subnet", String),
    Column("compute", Text, nullable=False),
    Column("kept", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("came_in", BigInteger, nullable=False),
    _version(),
)

operations = Table(
    "operations",
    metadata,
    Column("id", String, primary_key=True),
    Column("cause", String, nullable=False),
    Column("action", String, nullable=False),
    Column("source", String, nullable=False),
    Column("kind", String),
    Column("targets", Text, nullable=False),
    Column("asked_by", String, nullable=False),
    _micros("created_at"),
    Column("phase", String, nullable=False, index=True),
    Column("host", String, index=True),
    Column("description", Text, nullable=False),
    Column("duration_seconds", Integer, nullable=False),
    _micros("started_at", nullable=True),
    _micros("begin_at", nullable=True),
    _micros("ended_at", nullable=True, index=True),
    Column("reason", Text, nullable=False),
    Column("batch", String, index=True),
    Column("rollout", String, index=True),
    _version(),
)

rollouts = Table(
    "rollouts",
    metadata,
    Column("id", String, primary_key=True),
    Column("work", Text, nullable=False),
    Column("asked_by", String, nullable=False),
    _micros("created_at"),
    Column("state", String, nullable=False, index=True),
    Column("waves", Integer, nullable=False),
    Column("hosts", Integer, nullable=False),
    _micros("ended_at", nullable=True),
    Column("reason", Text, nullable=False),
    Column("forgiven", Integer, nullable=False),
    _micros("resumed_at", nullable=True),
    Column("waived_wave", Integer, nullable=False),
    _version(),
)

turns = Table(
    "turns",
    metadata,
    Column("rollout", String, primary_key=True),
    Column("host", String, primary_key=True),
    Column("wave", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("zone", String),
    Column("state", String, nullable=False, index=True),
    Column("operation", String),
    Column("touched", Text, nullable=False),
    Column("domains", Text, nullable=False),
    _micros("announced_at", nullable=True),
    _micros("ended_at", nullable=True),
    _micros("rests_from", nullable=True),
    Column("reason", Text, nullable=False),
    _version(),
)

events = Table(
    "events",
    metadata,
    Column("id", String, primary_key=True),
    Column("number", BigInteger, nullable=False, index=True),
    Column("operation", String, nullable=False, index=True),
    Column("scope", String, nullable=False, index=True),
    Column("update_domain", Integer),
    Column("resources", Text, nullable=False),
    Column("kind", String, nullable=False),
    Column("source", String, nullable=False),
    Column("description", Text, nullable=False),
    Column("duration_seconds", Integer, nullable=False),
    Column("phase", String, nullable=False, index=True),
    _micros("created_at"),
    _micros("notice"),
    _micros("not_before"),
    _micros("promised_at"),
    Column("approvals", Text, nullable=False),
    _micros("started_at", nullable=True),
    _micros("ended_at", nullable=True),
    Column("reason", Text, nullable=False),
    Column("moved_in", BigInteger, nullable=False),
    Column("postponed_by", String),
    _micros("postponed_at", nullable=True),
    _micros("postponed_from", nullable=True),
    Column("fault", String, nullable=False),
    _micros("early"),
    _version(),
)

attempts = Table(
    "attempts",
    metadata,
    Column("operation", String, primary_key=True),
    Column("vm", String, primary_key=True),
    Column("action", String, nullable=False),
    _micros("recorded_at"),
    _micros("deadline_at"),
    Column("host", String, nullable=False),
    Column("destination", String),
    Column("duration_seconds", Integer, nullable=False),
    Column("outcome", String),
    Column("reason", Text, nullable=False),
    _micros("ended_at", nullable=True),
    _version(),
)

deeds = Table(
    "deeds",
    metadata,
    Column("id", Integer, primary_key=True),
    _micros("at", index=True),
    Column("actor", String, nullable=False, index=True),
    Column("verb", String, nullable=False),
    Column("operation", String, index=True),
    Column("event", String),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
)

polls = Table(
    "polls",
    metadata,
    Column("scope", String, primary_key=True),
    _micros("at"),
)

# Who may sign in. Not part of the world: `store/credentials.py` reads and writes these by themselves.
credentials = Table(
    "credentials",
    metadata,
    Column("id", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("name", String, nullable=False, index=True),
    Column("role", String, nullable=False),
    Column("digest", String, nullable=False),
    _micros("created_at"),
    Column("created_by", String, nullable=False),
    _micros("expires_at", nullable=True),
    _micros("last_used_at", nullable=True),
    _micros("revoked_at", nullable=True),
    Column("revoked_by", String),
)

secrets = Table(
    "secrets",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

# Who is told of events, and what has not arrived yet. Not part of the world either: `store/webhooks.py`.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", String, primary_key=True),
    Column("url", Text, nullable=False),
    Column("format", String, nullable=False),
    Column("secret", String, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    _micros("created_at"),
    Column("created_by", String, nullable=False),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("webhook", String, nullable=False, index=True),
    Column("message", String, nullable=False),
    Column("event", String, nullable=False),
    Column("phase", String, nullable=False),
    Column("body", Text, nullable=False),
    _micros("made_at"),
    Column("tries", Integer, nullable=False),
    Column("problem", Text, nullable=False),
    _micros("dead_at", nullable=True),
)

# One row: the last commit, the last one known to have been shown to guests, and what the clocks showed then.
marks = Table(
    "marks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("shown", BigInteger, nullable=False),
    Column("clock_epoch", String, nullable=False),
    _micros("clock_elapsed"),
    _micros("clock_now"),
)

# In the order in which rows are written and read: an event finds its operation, an operation its machines.
TABLE_OF = {
    ResourceGroup: resource_groups,
    Host: hosts,
    AvailabilitySet: availability_sets,
    ScaleSet: scale_sets,
    CloudService: cloud_services,
    Scope: scopes,
    Vm: vms,
    Rollout: rollouts,
    Turn: turns,
    Operation: operations,
    Event: events,
    Attempt: attempts,
    AuditEntry: deeds,
}
