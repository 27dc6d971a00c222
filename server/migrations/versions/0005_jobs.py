"""Traces that wait for a worker."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "job",
        sa.Column("id", Id, primary_key=True),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("taken_until", sa.DateTime),
        sa.Column("finished", sa.DateTime),
        sa.Column("upload", sa.JSON(none_as_null=True)),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("sha256", "label"),
    )
    op.create_index("ix_job_finished", "job", ["finished"])


def downgrade() -> None:
    op.drop_table("job")
