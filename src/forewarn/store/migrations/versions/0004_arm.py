"""What clients of ARM write: policies, resource groups, the rest of a body, requests for several VMs."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_NO_POLICY = '["AllInstancesDown"]'


def upgrade() -> None:
    """Add the columns and the table."""
    for table in ("availability_sets", "scale_sets", "vms"):
        op.add_column(table, sa.Column("auto_approve", sa.Text, nullable=False, server_default=_NO_POLICY))
        op.add_column(table, sa.Column("kept", sa.Text, nullable=False, server_default=""))
    op.add_column("availability_sets", sa.Column("tags", sa.Text, nullable=False, server_default="{}"))
    for table in ("scale_sets", "vms"):
        op.add_column(table, sa.Column("announces_reimage", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("scale_sets", sa.Column("is_leaving", sa.Boolean, nullable=False, server_default=sa.false()))
    op.add_column("operations", sa.Column("batch", sa.String))
    op.create_index("ix_operations_batch", "operations", ["batch"])
    op.create_table(
        "resource_groups",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("kept", sa.Text, nullable=False),
        sa.Column("is_gone", sa.Boolean, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_resource_groups_version", "resource_groups", ["version"])
