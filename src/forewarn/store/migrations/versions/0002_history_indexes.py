"""Indexes for questions about what has been: events of a scope, events of a phase."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_events_scope", "events", ["scope"])
    op.create_index("ix_events_phase", "events", ["phase"])
