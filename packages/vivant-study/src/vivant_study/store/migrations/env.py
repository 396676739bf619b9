"""Run by Alembic for each upgrade, on the connection that it is handed."""

from alembic import context

from vivant_study.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
context.run_migrations()
