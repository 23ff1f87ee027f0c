"""Rollouts, the turns of their hosts, and the health checks of sets."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables and the columns."""
    op.create_table(
        "rollouts",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("work", sa.Text, nullable=False),
        sa.Column("asked_by", sa.String, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("waves", sa.Integer, nullable=False),
        sa.Column("hosts", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("forgiven", sa.Integer, nullable=False),
        sa.Column("resumed_at", sa.BigInteger),
        sa.Column("waived_wave", sa.Integer, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_rollouts_state", "rollouts", ["state"])
    op.create_index("ix_rollouts_version", "rollouts", ["version"])
    op.create_table(
        "turns",
        sa.Column("rollout", sa.String, primary_key=True),
        sa.Column("host", sa.String, primary_key=True),
        sa.Column("wave", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("zone", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("operation", sa.String),
        sa.Column("touched", sa.Text, nullable=False),
        sa.Column("domains", sa.Text, nullable=False),
        sa.Column("announced_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("rests_from", sa.BigInteger),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_turns_state", "turns", ["state"])
    op.create_index("ix_turns_version", "turns", ["version"])
    op.add_column("operations", sa.Column("rollout", sa.String))
    op.create_index("ix_operations_rollout", "operations", ["rollout"])
    for table in ("availability_sets", "scale_sets", "cloud_services"):
        op.add_column(table, sa.Column("health_check", sa.String))
