"""Bringing an older store's tables up to date, with Alembic.

Imported only when there is something to migrate.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(connection: sa.Connection, revision: str = "head") -> None:
    """Run the migrations that the store has not had; all of them, or none."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    connection.exec_driver_sql("BEGIN")
    try:
        command.upgrade(config, revision)
    except BaseException:
        connection.exec_driver_sql("ROLLBACK")
        raise
    connection.exec_driver_sql("COMMIT")
