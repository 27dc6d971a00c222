"""What Alembic runs to migrate a lab's database: in the transaction of the connection that it is given."""

from alembic import context

from perflab.server.migrations import VERSION_TABLE
from perflab.server.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,  # its naming convention names the constraints of migrations, too
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
