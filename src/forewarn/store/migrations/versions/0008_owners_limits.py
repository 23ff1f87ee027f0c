"""Owners' limits: the minimum of a set, postponed events; and when a VM came to its host."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns, and an index for what was done to a host."""
    for table in ("availability_sets", "scale_sets", "cloud_services"):
        op.add_column(table, sa.Column("min_available", sa.Integer, nullable=False, server_default="0"))
    op.add_column("vms", sa.Column("came_in", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("events", sa.Column("moved_in", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("events", sa.Column("postponed_by", sa.String))
    op.add_column("events", sa.Column("postponed_at", sa.BigInteger))
    op.add_column("events", sa.Column("postponed_from", sa.BigInteger))
    op.create_index("ix_operations_host", "operations", ["host"])
