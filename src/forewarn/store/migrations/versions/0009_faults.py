"""Faults that were put into an event, for tests: which, and how early it starts by them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("events", sa.Column("fault", sa.String, nullable=False, server_default=""))
    op.add_column("events", sa.Column("early", sa.BigInteger, nullable=False, server_default="0"))
