"""What was around a run."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    with op.batch_alter_table("run") as run:
        run.add_column(sa.Column("environment", sa.JSON, nullable=False, server_default="{}"))
    with op.batch_alter_table("run") as run:
        run.alter_column("environment", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("run") as run:
        run.drop_column("environment")
