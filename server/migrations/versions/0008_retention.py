"""Rules of what stays."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "retention",
        sa.Column("project", sa.String(200), primary_key=True),
        sa.Column("newest", sa.BigInteger, nullable=False),
        sa.Column("thin", sa.BigInteger, nullable=False),
        sa.Column("quota", sa.BigInteger),
    )


def downgrade() -> None:
    op.drop_table("retention")
