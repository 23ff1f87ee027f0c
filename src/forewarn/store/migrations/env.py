"""Alembic's entry: runs the migrations on the connection that `forewarn.store.migrate` hands over."""

from alembic import context

from forewarn.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=False
)
context.run_migrations()
