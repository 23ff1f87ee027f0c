"""Webhooks, and what they have still to be told."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the two tables."""
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("format", sa.String, nullable=False),
        sa.Column("secret", sa.String, nullable=False),
        sa.Column("kinds", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.String, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("webhook", sa.String, nullable=False),
        sa.Column("message", sa.String, nullable=False),
        sa.Column("event", sa.String, nullable=False),
        sa.Column("phase", sa.String, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("dead_at", sa.BigInteger, nullable=True),
    )
    op.create_index("ix_deliveries_webhook", "deliveries", ["webhook"])
