"""Whether uploads are masked, and were."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "masking",
        sa.Column("project", sa.String(200), primary_key=True),
        sa.Column("masked", sa.Boolean, nullable=False),
    )
    # What was derived of the uploads before was masked, though the names of their hosts stand in the table of runs.
    with op.batch_alter_table("upload") as upload:
        upload.add_column(sa.Column("masked", sa.Boolean, nullable=False, server_default=sa.true()))
    with op.batch_alter_table("upload") as upload:
        upload.alter_column("masked", server_default=None)


def downgrade() -> None:
    with op.batch_alter_table("upload") as upload:
        upload.drop_column("masked")
    op.drop_table("masking")
