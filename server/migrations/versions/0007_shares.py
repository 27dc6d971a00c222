"""Share links."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "share",
        sa.Column("id", Id, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("project", sa.String(200), nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("traces", sa.JSON, nullable=False),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("expires", sa.DateTime, nullable=False),
        sa.Column("revoked", sa.DateTime),
        sa.UniqueConstraint("digest"),
    )


def downgrade() -> None:
    op.drop_table("share")
