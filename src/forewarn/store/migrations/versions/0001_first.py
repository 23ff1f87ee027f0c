"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables, and the one row that counts commits."""
    op.create_table(
        "attempts",
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("vm", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("deadline_at", sa.BigInteger(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("destination", sa.String(), nullable=True),
        sa.Column("duration_seconds", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("operation", "vm"),
    )
    op.create_index(op.f("ix_attempts_version"), "attempts", ["version"], unique=False)
    op.create_table(
        "availability_sets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("resource_group", sa.String(), nullable=False),
        sa.Column("update_domains", sa.Integer(), nullable=False),
        sa.Column("fault_domains", sa.Integer(), nullable=False),
        sa.Column("spread", sa.Boolean(), nullable=False),
        sa.Column("is_gone", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(op.f("ix_availability_sets_version"), "availability_sets", ["version"], unique=False)
    op.create_table(
        "cloud_services",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("resource_group", sa.String(), nullable=False),
        sa.Column("is_gone", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(op.f("ix_cloud_services_version"), "cloud_services", ["version"], unique=False)
    op.create_table(
        "deeds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("verb", sa.String(), nullable=False),
        sa.Column("operation", sa.String(), nullable=True),
        sa.Column("event", sa.String(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_deeds_operation"), "deeds", ["operation"], unique=False)
    op.create_table(
        "events",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("operation", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("update_domain", sa.Integer(), nullable=True),
        sa.Column("resources", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("duration_seconds", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("notice", sa.BigInteger(), nullable=False),
        sa.Column("not_before", sa.BigInteger(), nullable=False),
        sa.Column("promised_at", sa.BigInteger(), nullable=False),
        sa.Column("approvals", sa.Text(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_events_number"), "events", ["number"], unique=False)
    op.create_index(op.f("ix_events_operation"), "events", ["operation"], unique=False)
    op.create_index(op.f("ix_events_version"), "events", ["version"], unique=False)
    op.create_table(
        "hosts",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("zone", sa.String(), nullable=True),
        sa.Column("fault_domain", sa.Integer(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("condition", sa.String(), nullable=False),
        sa.Column("is_declared", sa.Boolean(), nullable=False),
        sa.Column("is_gone", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(op.f("ix_hosts_version"), "hosts", ["version"], unique=False)
    op.create_table(
        "marks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("shown", sa.BigInteger(), nullable=False),
        sa.Column("clock_epoch", sa.String(), nullable=False),
        sa.Column("clock_elapsed", sa.BigInteger(), nullable=False),
        sa.Column("clock_now", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "operations",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=True),
        sa.Column("targets", sa.Text(), nullable=False),
        sa.Column("asked_by", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("duration_seconds", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("begin_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_operations_phase"), "operations", ["phase"], unique=False)
    op.create_index(op.f("ix_operations_version"), "operations", ["version"], unique=False)
    op.create_table(
        "polls",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope"),
    )
    op.create_table(
        "scale_sets",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("resource_group", sa.String(), nullable=False),
        sa.Column("capacity", sa.Integer(), nullable=False),
        sa.Column("hosts", sa.Text(), nullable=False),
        sa.Column("addresses", sa.Text(), nullable=False),
        sa.Column("priority", sa.String(), nullable=False),
        sa.Column("eviction_policy", sa.String(), nullable=False),
        sa.Column("terminate_notification", sa.BigInteger(), nullable=True),
        sa.Column("placement_group_size", sa.Integer(), nullable=False),
        sa.Column("zones", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("is_gone", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(op.f("ix_scale_sets_version"), "scale_sets", ["version"], unique=False)
    op.create_table(
        "scopes",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("placement_group", sa.Integer(), nullable=True),
        sa.Column("incarnation", sa.BigInteger(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("on_since", sa.BigInteger(), nullable=True),
        sa.Column("was_on_before", sa.Boolean(), nullable=False),
        sa.Column("is_gone", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_scopes_version"), "scopes", ["version"], unique=False)
    op.create_table(
        "vms",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("vm_id", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("home", sa.String(), nullable=True),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("resource_group", sa.String(), nullable=False),
        sa.Column("set_name", sa.String(), nullable=True),
        sa.Column("instance", sa.Integer(), nullable=True),
        sa.Column("placement_group", sa.Integer(), nullable=True),
        sa.Column("update_domain", sa.Integer(), nullable=False),
        sa.Column("fault_domain", sa.Integer(), nullable=False),
        sa.Column("zone", sa.String(), nullable=True),
        sa.Column("addresses", sa.Text(), nullable=False),
        sa.Column("interface", sa.String(), nullable=True),
        sa.Column("port", sa.Integer(), nullable=True),
        sa.Column("computer_name", sa.String(), nullable=True),
        sa.Column("priority", sa.String(), nullable=False),
        sa.Column("eviction_policy", sa.String(), nullable=False),
        sa.Column("terminate_notification", sa.BigInteger(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index(op.f("ix_vms_version"), "vms", ["version"], unique=False)
    marks = sa.table(
        "marks",
        *(sa.column(name) for name in ("id", "number", "shown", "clock_epoch", "clock_elapsed", "clock_now")),
    )
    op.execute(marks.insert().values(id=1, number=0, shown=0, clock_epoch="", clock_elapsed=0, clock_now=0))
