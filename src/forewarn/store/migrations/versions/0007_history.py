"""Indexes for letting go of what is old, and for questions about who did what."""

from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_operations_ended_at", "operations", ["ended_at"])
    op.create_index("ix_deeds_at", "deeds", ["at"])
    op.create_index("ix_deeds_actor", "deeds", ["actor"])
