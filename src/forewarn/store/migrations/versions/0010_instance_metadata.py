"""What a fleet file says of the instance metadata: MAC address, subnet, and members of `compute`."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("vms", sa.Column("mac", sa.String))
    for table in ("vms", "scale_sets"):
        op.add_column(table, sa.Column("subnet", sa.String))
        op.add_column(table, sa.Column("compute", sa.Text, nullable=False, server_default="{}"))
